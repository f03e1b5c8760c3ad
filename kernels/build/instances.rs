//! The instances in `src/*.cu`, read as text, and the Rust table made of them.
//!
//! So a kernel's name, tile and mask are written once. A line is
//! `FA2_FORWARD(name, element, head_dim, mask, block_m, block_n, warps, stages)` or
//! `FA2_TEACHING(name, mask, stages)`, at the start of a line.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// One kernel.
pub(crate) struct Instance {
    /// Its source file without the ending.
    pub(crate) unit: String,
    name: String,
    family: &'static str,
    dtype: &'static str,
    mask: &'static str,
    head_dim: u32,
    block_m: u32,
    block_n: u32,
    warps: u32,
    stages: u32,
}

/// All instances, by unit.
pub(crate) fn read(source: &Path) -> Result<Vec<Instance>> {
    let entries =
        fs::read_dir(source).with_context(|| format!("cannot read {}", source.display()))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "cu"));
    files.sort();
    let mut instances = Vec::new();
    for file in &files {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let unit = file.file_stem().unwrap_or_default().to_string_lossy();
        for line in text.lines() {
            let parsed = instance(&unit, line)
                .with_context(|| format!("{}: `{line}` is no instance", file.display()))?;
            instances.extend(parsed);
        }
    }
    ensure!(
        !instances.is_empty(),
        "{} holds no instance",
        source.display()
    );
    Ok(instances)
}

fn instance(unit: &str, line: &str) -> Result<Option<Instance>> {
    let Some((call, rest)) = line.split_once('(') else {
        return Ok(None);
    };
    if !["FA2_FORWARD", "FA2_TEACHING"].contains(&call) {
        return Ok(None);
    }
    let list = rest.strip_suffix(')').context("it does not end with `)`")?;
    let words: Vec<&str> = list.split(',').map(str::trim).collect();
    let unit = unit.to_owned();
    match (call, words.as_slice()) {
        (
            "FA2_FORWARD",
            &[
                name,
                element,
                head_dim,
                mask,
                block_m,
                block_n,
                warps,
                stages,
            ],
        ) => Ok(Some(Instance {
            unit,
            name: name.to_owned(),
            family: "General",
            dtype: dtype(element)?,
            mask: mask_kind(mask)?,
            head_dim: head_dim.parse()?,
            block_m: block_m.parse()?,
            block_n: block_n.parse()?,
            warps: warps.parse()?,
            stages: stages.parse()?,
        })),
        ("FA2_TEACHING", &[name, mask, stages]) => Ok(Some(Instance {
            unit,
            name: name.to_owned(),
            family: "Teaching",
            dtype: "F16",
            mask: mask_kind(mask)?,
            head_dim: 64,
            block_m: 64,
            block_n: 64,
            warps: 4,
            stages: stages.parse()?,
        })),
        _ => bail!("it has {} arguments", words.len()),
    }
}

fn dtype(element: &str) -> Result<&'static str> {
    match element {
        "f16" => Ok("F16"),
        "bf16" => Ok("Bf16"),
        _ => bail!("`{element}` is neither f16 nor bf16"),
    }
}

fn mask_kind(mask: &str) -> Result<&'static str> {
    match mask {
        "none" => Ok("None"),
        "causal" => Ok("Causal"),
        _ => bail!("`{mask}` is neither none nor causal"),
    }
}

/// The table as Rust source; kernels of other units than `built` are not in the fatbin.
pub(crate) fn table(instances: &[Instance], built: &[String]) -> String {
    let mut text = format!("static TABLE: [KernelInfo; {}] = [\n", instances.len());
    for i in instances {
        let is_built = built.contains(&i.unit);
        let shared = 2 * i.head_dim * (i.block_m + 2 * i.stages * i.block_n);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "    KernelInfo {{ name: {:?}, unit: {:?}, family: Family::{}, dtype: Dtype::{}, \
             mask: MaskKind::{}, head_dim: {}, block_m: {}, block_n: {}, stages: {}, \
             threads: {}, shared_bytes: {shared}, is_built: {is_built} }},",
            i.name,
            i.unit,
            i.family,
            i.dtype,
            i.mask,
            i.head_dim,
            i.block_m,
            i.block_n,
            i.stages,
            32 * i.warps,
        );
    }
    text.push_str("];\n");
    text
}
