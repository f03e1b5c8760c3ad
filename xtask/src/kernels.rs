//! `cargo xtask kernels`: the CUDA C++ kernels, compiled without a GPU, with what ptxas says of them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{process, progress, setup, workspace};

/// Says which units of `kernels/src` to compile; `.cargo/config.toml` sets it to none for plain builds.
const UNITS: &str = "FA2_CUTE_UNITS";
const NO_UNITS: &str = "none";
/// Every unit.
pub(crate) const ALL_UNITS: &str = "all";
const TESTED_UNITS: &str = "teaching,fwd_f16_d64";

/// Compiles every kernel, or the units that the variable names, and prints a line for each one and
/// architecture. A kernel that spills is a failure.
pub(crate) fn run() -> Result<()> {
    let asked = std::env::var(UNITS).ok().filter(|units| units != NO_UNITS);
    build("build", asked.as_deref().unwrap_or(ALL_UNITS))
}

/// Compiles and tests the article's kernel and one of the general ones: what fits into every test run.
pub(crate) fn test() -> Result<()> {
    build("test", TESTED_UNITS)
}

fn build(command: &str, units: &str) -> Result<()> {
    setup::for_kernels()?;
    progress::heading("Compiling the CUDA C++ kernels (all units take minutes)");
    let mut cargo = process::cargo();
    cargo.args([command, "--release", "--package", "fa2-cute"]);
    process::stream(compiled(&mut cargo, units))?;
    let report = report()?;
    println!(
        "{:6} {:40} {:>9} {:>7} {:>7} {:>7}",
        "sm", "kernel", "registers", "stack", "stores", "loads"
    );
    let mut spilling = 0;
    for line in report.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [sm, kernel, registers, memory @ ..] = &fields[..] else {
            continue;
        };
        spilling += usize::from(memory.iter().any(|bytes| *bytes != "0"));
        let memory: Vec<String> = memory.iter().map(|bytes| format!("{bytes:>7}")).collect();
        println!("{sm:6} {kernel:40} {registers:>9} {}", memory.join(" "));
    }
    ensure!(spilling == 0, "{spilling} kernels spill registers");
    Ok(())
}

/// `cargo`, so that it compiles these units of `kernels/src`.
///
/// The build script finds the tools in the target folder by itself. `CUDA_HOME` would name them too,
/// but CubeCL's driver bindings watch it, and all of Burn would be compiled anew.
pub(crate) fn compiled<'a>(cargo: &'a mut Command, units: &str) -> &'a mut Command {
    cargo.env(UNITS, units)
}

/// ptxas's figures of the newest build.
fn report() -> Result<String> {
    let builds = workspace::target_dir().join("release/build");
    let newest = fs::read_dir(&builds)
        .with_context(|| format!("reading {}", builds.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("fa2-cute-")
        })
        .map(|path| path.join("out/report.txt"))
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .max()
        .map(|(_, path): (_, PathBuf)| path)
        .context("the build left no report")?;
    fs::read_to_string(&newest).with_context(|| format!("reading {}", newest.display()))
}
