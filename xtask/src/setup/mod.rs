//! What a fresh machine lacks: LLVM for the build, CUDA's binary tools for the code checks, a model.
//!
//! Each part is a folder that is there whole or not at all ([`install`]), so a second run finds it
//! and does nothing.

pub(crate) mod cuda_tools;
pub(crate) mod cute_tools;
mod install;
mod llvm;
pub(crate) mod model;
mod wheel;

use std::path::PathBuf;

use anyhow::{Context, Result};

/// Prepares what a build needs.
pub(crate) fn for_building() -> Result<()> {
    let llvm = llvm::ensure().context("set-up: LLVM for CubeCL's CUDA runtime")?;
    eprintln!("Set-up: {llvm}");
    Ok(())
}

/// Prepares what compiles the CUDA C++ kernels.
pub(crate) fn for_kernels() -> Result<()> {
    let tools = cute_tools::ensure().context("set-up: nvcc and CuTe for the CUDA C++ kernels")?;
    eprintln!("Set-up: nvcc and CuTe in {}", tools.display());
    Ok(())
}

/// Prepares what a build and the code checks need; returns the folder of the CUDA tools.
pub(crate) fn for_code_checks() -> Result<PathBuf> {
    let llvm = llvm::ensure().context("set-up: LLVM for CubeCL's CUDA runtime")?;
    let tools = cuda_tools::ensure().context("set-up: CUDA's binary tools for the code checks")?;
    eprintln!("Set-up: {llvm}; CUDA tools in {}", tools.display());
    Ok(tools)
}
