//! `cargo xtask gpu`: the conformance suite on this machine's NVIDIA GPU.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{binary, process, progress, setup};

/// Builds and runs the suite with `arguments`.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    require()?;
    setup::for_building()?;
    let mut suite = binary::build_with_kernels("fa2-gpu-suite")?;
    progress::heading("Running the GPU suite");
    process::stream(suite.args(arguments))
}

/// Fails where there is no NVIDIA GPU, before minutes of building.
pub(crate) fn require() -> Result<()> {
    process::capture(Command::new("nvidia-smi").arg("-L")).map(drop).context(
        "this command needs an NVIDIA GPU with its driver, and `nvidia-smi -L` finds none here; \
         run it on such a machine, or run `cargo xtask test`, which needs no GPU",
    )
}
