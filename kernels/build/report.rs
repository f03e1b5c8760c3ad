//! What ptxas says of the kernels: one line a kernel and architecture.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The report in the build script's folder.
pub(crate) const FILE: &str = "report.txt";

/// `arch kernel registers stack spill_stores spill_loads` lines of ptxas's verbose output.
pub(crate) fn lines(arch: &str, verbose: &str) -> String {
    let mut text = String::new();
    let mut kernel = "";
    let mut memory = [0u32; 3];
    for line in verbose.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().unwrap_or_default();
        } else if line.contains("bytes stack frame") {
            let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
            memory = [(); 3].map(|()| numbers.next().unwrap_or(0));
        } else if let Some((_, rest)) = line.split_once("Used ") {
            let registers = rest.split(' ').next().unwrap_or_default();
            let [stack, stores, loads] = memory;
            // Writing to a string does not fail.
            let _ = writeln!(text, "{arch} {kernel} {registers} {stack} {stores} {loads}");
        }
    }
    text
}

/// The lines of kernels that spill.
pub(crate) fn spills(report: &Path) -> Result<Vec<String>> {
    let text =
        fs::read_to_string(report).with_context(|| format!("cannot read {}", report.display()))?;
    let spills = |line: &&str| line.split(' ').skip(3).any(|number| number != "0");
    Ok(text.lines().filter(spills).map(str::to_owned).collect())
}
