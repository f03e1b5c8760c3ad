//! CUDA's binary tools (ptxas, cuobjdump, nvdisasm), pinned so that register figures are reproducible.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::{install, install::Install, wheel};
use crate::{process, progress, workspace};

/// Tells child processes the folder that holds the tools.
pub(crate) const VARIABLE: &str = "FA2_CUDA_TOOLS";

/// The compiler; of one release for the code checks and for the CUDA C++ kernels.
pub(super) const NVCC: &str = "nvidia-cuda-nvcc==13.0.88";
/// The pins; cuobjdump and nvdisasm have no 13.0 on PyPI and read what ptxas 13.0 writes.
const PACKAGES: [&str; 3] = [
    NVCC,
    "nvidia-cuda-cuobjdump==13.2.78",
    "nvidia-cuda-nvdisasm==13.2.78",
];
/// Where the wheels put their programs.
const BIN: &str = "nvidia/cu13/bin";

/// The folder of the tools, downloaded at the first call.
pub(crate) fn ensure() -> Result<PathBuf> {
    let install = Install {
        folder: workspace::target_dir().join("cuda-tools"),
        marker: ".installed",
        stamp: Some(PACKAGES.join("\n")),
    };
    if install.is_done() {
        return Ok(install.folder.join(BIN));
    }
    match install.run(fill) {
        Ok(()) => Ok(install.folder.join(BIN)),
        Err(error) => of_this_machine().ok_or_else(|| {
            error.context(
                "neither PyPI, CUDA_HOME nor PATH gives ptxas, cuobjdump and nvdisasm: reach PyPI, \
                 or install the CUDA toolkit 13",
            )
        }),
    }
}

fn fill(folder: &Path) -> Result<()> {
    wheel::unpack(&PACKAGES, folder)?;
    let bin = folder.join(BIN);
    install::make_executable(&bin)?;
    let version = ptxas_version(&bin)?;
    ensure!(
        version.contains("release 13.0"),
        "ptxas of {} says: {version}",
        PACKAGES[0]
    );
    Ok(())
}

/// Where PyPI can't be reached: a CUDA toolkit of this machine, openly.
fn of_this_machine() -> Option<PathBuf> {
    let home = std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bin = home
        .into_iter()
        .chain(std::env::split_paths(&path))
        .find(|bin| ptxas_version(bin).is_ok())?;
    progress::note(&format!(
        "the pinned CUDA tools can't be had; {} is used, so register figures may differ",
        bin.display()
    ));
    Some(bin)
}

/// What the ptxas of `bin` says of itself, if every tool is there and runs.
fn ptxas_version(bin: &Path) -> Result<String> {
    let ask = |tool: &str| {
        let program = bin.join(format!("{tool}{}", std::env::consts::EXE_SUFFIX));
        ensure!(program.is_file(), "there is no {}", program.display());
        process::capture(Command::new(program).arg("--version"))
    };
    ask("cuobjdump")?;
    ask("nvdisasm")?;
    ask("ptxas")
}
