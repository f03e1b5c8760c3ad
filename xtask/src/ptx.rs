//! `cargo xtask ptx`: what a kernel configuration compiles to, without a GPU.

use std::ffi::OsString;

use anyhow::Result;

use crate::setup::cuda_tools;
use crate::{binary, process, progress, setup};

/// Builds the offline compiler and runs it with `arguments` and the pinned CUDA tools.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    let tools = setup::for_code_checks()?;
    let mut offline = binary::build("fa2-ptx")?;
    progress::heading("Compiling the kernel");
    process::stream(offline.args(arguments).env(cuda_tools::VARIABLE, tools))
}
