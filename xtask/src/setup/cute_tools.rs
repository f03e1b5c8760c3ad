//! What compiles the CUDA C++ kernels: nvcc with its front end, CUDA's headers, and CuTe's.

use std::path::PathBuf;

use anyhow::Result;

use super::{cuda_tools::NVCC, install, install::Install, wheel};
use crate::workspace;

/// The pins: one release of CUDA, and the CUTLASS whose CuTe the kernels were written for.
const PACKAGES: [&str; 6] = [
    NVCC,
    "nvidia-cuda-crt==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
    "nvidia-cutlass==4.2.0.0",
];
/// Folders of programs, which a zip archive makes plain files.
const PROGRAMS: [&str; 2] = ["nvidia/cu13/bin", "nvidia/cu13/nvvm/bin"];

/// The folder with the tools, downloaded at the first call; the kernels' build script looks there.
pub(crate) fn ensure() -> Result<PathBuf> {
    let install = Install {
        folder: workspace::target_dir().join("cute-tools"),
        marker: ".installed",
        stamp: Some(PACKAGES.join("\n")),
    };
    if !install.is_done() {
        install.run(|folder| {
            wheel::unpack(&PACKAGES, folder)?;
            PROGRAMS
                .iter()
                .try_for_each(|programs| install::make_executable(&folder.join(programs)))
        })?;
    }
    Ok(install.folder)
}
