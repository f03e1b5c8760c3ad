//! `cargo xtask bench`: our speed on this machine's NVIDIA GPU, then that of PyTorch's kernels.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use crate::{binary, gpu, process, progress, setup, workspace};

/// Our record of the whole grid.
const OURS: &str = "target/bench/ours.json";
/// Ours and the peers' together.
const MERGED: &str = "target/bench/forward.json";

/// With arguments, runs `fa2-bench` with them. Without, measures the forward over the whole grid,
/// then PyTorch's kernels at the same shapes where PyTorch is installed, and prints the ratios.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    gpu::require()?;
    setup::for_building()?;
    let mut bench = binary::build("fa2-bench")?;
    progress::heading("Measuring ours");
    if !arguments.is_empty() {
        return process::stream(bench.args(arguments));
    }
    let root = workspace::root();
    let ours = root.join(OURS);
    std::fs::create_dir_all(ours.parent().unwrap_or(root.as_ref()))?;
    process::stream(
        bench
            .args(["forward", "--stock", "4096", "--out"])
            .arg(&ours),
    )?;
    peers(&ours, &root.join(MERGED))
}

fn peers(ours: &Path, merged: &Path) -> Result<()> {
    if process::capture(process::python().args(["-c", "import torch"])).is_err() {
        progress::note("peers skipped: this Python has no torch (python3 -m pip install torch)");
        return Ok(());
    }
    progress::heading("Measuring PyTorch's kernels");
    process::stream(
        process::python()
            .arg(workspace::root().join("benches/peers.py"))
            .args(["--grid", "paper", "--merge"])
            .arg(ours)
            .arg("--out")
            .arg(merged),
    )
}
