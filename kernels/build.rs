//! Compiles the kernels into one fatbin, and their table from the instances in `src/*.cu`.
//!
//! Each unit becomes PTX for SM80, in parallel: the kernels need nothing newer, and the C++ front
//! end is most of the work. One module of all units then becomes machine code for each
//! architecture, and goes along as PTX for those that come after.
//!
//! `FA2_CUTE_ARCHS=80,90` restricts the architectures, `FA2_CUTE_UNITS=teaching,fwd_f16_d64` the
//! units; with `none` nothing is compiled and no tool is needed. Where the tools were needed, and so
//! found, `cfg(cute_tools)` is set and the tests have the folders of headers.

#[path = "build/compile.rs"]
mod compile;
#[path = "build/instances.rs"]
mod instances;
#[path = "build/merge.rs"]
mod merge;
#[path = "build/report.rs"]
mod report;
#[path = "build/tools.rs"]
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Architectures with machine code of their own.
const ARCHS: [&str; 4] = ["80", "86", "89", "90"];
const ARCHS_VARIABLE: &str = "FA2_CUTE_ARCHS";
const UNITS_VARIABLE: &str = "FA2_CUTE_UNITS";
/// Value of the units' variable that compiles nothing.
const NO_UNITS: &str = "none";
/// Value of the units' variable that compiles every one, as without it.
const ALL_UNITS: &str = "all";
/// Set for the crate and its tests where the tools were found.
const TOOLS_CFG: &str = "cute_tools";
/// Tells the tests the folders of headers.
const INCLUDES_VARIABLE: &str = "FA2_CUTE_INCLUDES";

fn main() -> Result<()> {
    let root = PathBuf::from(env("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env("OUT_DIR")?);
    for path in ["build.rs", "build", "include", "src"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for variable in [ARCHS_VARIABLE, UNITS_VARIABLE] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rustc-check-cfg=cfg({TOOLS_CFG})");
    let instances = instances::read(&root.join("src"))?;
    let units = chosen_units(&instances)?;
    fs::write(out.join("table.rs"), instances::table(&instances, &units))
        .context("cannot write the table of kernels")?;
    let archs = chosen_archs()?;
    // docs.rs has no CUDA, and needs none.
    if units.is_empty() || std::env::var_os("DOCS_RS").is_some() {
        return write_empty(&out);
    }
    let tools = tools::find(&out)?;
    let includes = std::env::join_paths(&tools.includes).context("a header folder has a colon")?;
    println!("cargo::rustc-cfg={TOOLS_CFG}");
    println!(
        "cargo::rustc-env={INCLUDES_VARIABLE}={}",
        includes.display()
    );
    compile::fatbin(&tools, &root, &out, &units, &archs)?;
    for line in report::spills(&out.join(report::FILE))? {
        println!("cargo::warning=a kernel spills registers: {line}");
    }
    Ok(())
}

fn write_empty(out: &Path) -> Result<()> {
    fs::write(out.join(compile::FATBIN), []).context("cannot write an empty fatbin")?;
    fs::write(out.join(report::FILE), []).context("cannot write an empty report")
}

/// The units to compile, in order.
fn chosen_units(instances: &[instances::Instance]) -> Result<Vec<String>> {
    let mut all: Vec<String> = instances.iter().map(|i| i.unit.clone()).collect();
    all.dedup();
    match std::env::var(UNITS_VARIABLE) {
        Err(_) => Ok(all),
        Ok(list) if list == ALL_UNITS => Ok(all),
        Ok(list) if list == NO_UNITS => Ok(Vec::new()),
        Ok(list) => {
            let chosen: Vec<String> = words(&list);
            for unit in &chosen {
                ensure!(
                    all.contains(unit),
                    "{UNITS_VARIABLE} names `{unit}`; there are {} and `{NO_UNITS}`",
                    all.join(", ")
                );
            }
            Ok(chosen)
        }
    }
}

/// The architectures to compile for.
fn chosen_archs() -> Result<Vec<String>> {
    let Ok(list) = std::env::var(ARCHS_VARIABLE) else {
        return Ok(ARCHS.map(str::to_owned).to_vec());
    };
    let chosen: Vec<String> = words(&list);
    for arch in &chosen {
        ensure!(
            arch.parse::<u32>().is_ok_and(|arch| arch >= 80),
            "{ARCHS_VARIABLE} names `{arch}`: give compute capabilities of 80 or more, as in 80,90"
        );
    }
    ensure!(!chosen.is_empty(), "{ARCHS_VARIABLE} names no architecture");
    Ok(chosen)
}

fn words(list: &str) -> Vec<String> {
    list.split(',')
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

fn env(name: &str) -> Result<String> {
    std::env::var(name).with_context(|| format!("cargo did not set {name}"))
}
