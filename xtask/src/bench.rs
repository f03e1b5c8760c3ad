//! `cargo xtask bench`: our speed on this machine's NVIDIA GPU, then that of PyTorch's kernels.

use std::ffi::OsString;

use anyhow::Result;

use crate::{binary, gpu, process, progress, setup, workspace};

/// Measures ours with `arguments`, then the peers where PyTorch is installed.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    gpu::require()?;
    setup::for_building()?;
    let mut bench = binary::build("fa2-bench")?;
    progress::heading("Measuring ours");
    process::stream(bench.args(arguments))?;
    peers()
}

fn peers() -> Result<()> {
    if process::capture(process::python().args(["-c", "import torch"])).is_err() {
        progress::note("peers skipped: this Python has no torch (python3 -m pip install torch)");
        return Ok(());
    }
    progress::heading("Measuring PyTorch's kernels");
    process::stream(process::python().arg(workspace::root().join("benches/peers.py")))
}
