//! Where the compiler and CuTe's headers are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// What xtask unpacks wheels into, in the target folder.
const WHEELS: &str = "cute-tools";
/// CUDA in those wheels.
const WHEEL_CUDA: &str = "nvidia/cu13";
/// CUTLASS in its wheel.
const WHEEL_CUTLASS: &str = "cutlass_library/source";
/// A header by which CuTe is known.
const CUTE_HEADER: &str = "cute/tensor.hpp";

/// The tools of one build.
pub(crate) struct Tools {
    pub(crate) nvcc: PathBuf,
    pub(crate) ptxas: PathBuf,
    pub(crate) fatbinary: PathBuf,
    /// What nvcc says of itself.
    pub(crate) version: String,
    /// Folders of headers, CuTe's first.
    pub(crate) includes: Vec<PathBuf>,
}

/// Finds all of them; `out` lies in the target folder.
pub(crate) fn find(out: &Path) -> Result<Tools> {
    for variable in ["CUDA_HOME", "CUTLASS_DIR", "PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let wheels: Vec<PathBuf> = out.ancestors().map(|at| at.join(WHEELS)).collect();
    let bin = cuda_bin(&wheels).context(
        "no nvcc was found. Either install the CUDA toolkit 12.8 or newer and set CUDA_HOME (or \
         have nvcc on PATH), or run `cargo xtask kernels`, which fetches nvidia-cuda-nvcc, \
         nvidia-cuda-crt, nvidia-nvvm, nvidia-cuda-runtime and nvidia-cuda-cccl 13.0 from PyPI \
         into target/cute-tools",
    )?;
    let cute = cutlass_include(&wheels).context(
        "no CuTe headers were found. Either set CUTLASS_DIR to a checkout of CUTLASS 4.2, or run \
         `cargo xtask kernels`, which fetches nvidia-cutlass 4.2.0.0 from PyPI into \
         target/cute-tools",
    )?;
    let mut includes = vec![cute];
    if let Some(home) = bin.parent() {
        // A toolkit's nvcc finds them itself; a wheel's only if its profile says so.
        let folders = [home.join("include"), home.join("include/cccl")];
        includes.extend(folders.into_iter().filter(|folder| folder.is_dir()));
    }
    let nvcc = program(&bin, "nvcc");
    let version = Command::new(&nvcc)
        .arg("--version")
        .output()
        .context("nvcc does not tell its version")?;
    Ok(Tools {
        nvcc,
        version: String::from_utf8_lossy(&version.stdout).into_owned(),
        ptxas: program(&bin, "ptxas"),
        fatbinary: program(&bin, "fatbinary"),
        includes,
    })
}

/// The folder with nvcc, ptxas and fatbinary.
fn cuda_bin(wheels: &[PathBuf]) -> Option<PathBuf> {
    let home = std::env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    // nvcc's wheel alone has no front end: that one is in nvidia-nvvm.
    let whole =
        |cuda: &PathBuf| cuda.join("nvvm/bin").is_dir() && cuda.join("include/crt").is_dir();
    let unpacked = wheels
        .iter()
        .map(|wheels| wheels.join(WHEEL_CUDA))
        .filter(whole)
        .map(|cuda| cuda.join("bin"));
    home.into_iter()
        .chain(std::env::split_paths(&path))
        .chain(unpacked)
        .find(|bin| {
            ["nvcc", "ptxas", "fatbinary"]
                .iter()
                .all(|tool| runs(&program(bin, tool)))
        })
}

/// The folder that holds CuTe's headers.
fn cutlass_include(wheels: &[PathBuf]) -> Option<PathBuf> {
    let set = std::env::var_os("CUTLASS_DIR").map(PathBuf::from);
    set.into_iter()
        .chain(wheels.iter().map(|wheels| wheels.join(WHEEL_CUTLASS)))
        .flat_map(|root| [root.join("include"), root])
        .find(|include| include.join(CUTE_HEADER).is_file())
}

fn program(bin: &Path, name: &str) -> PathBuf {
    bin.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn runs(program: &Path) -> bool {
    program.is_file()
        && Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
}
