//! Building a program of the workspace the one way that shares every compiled crate with the tests.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{kernels, process, progress, setup, workspace};

/// Builds the binary `name` and returns a command that runs it where the user stands.
pub(crate) fn build(name: &str) -> Result<Command> {
    progress::heading(&format!(
        "Building {name} (the first build compiles Burn and CubeCL)"
    ));
    process::stream(&mut cargo(name))?;
    Ok(Command::new(path(name)))
}

/// As [`build`], with all CUDA C++ kernels inside.
pub(crate) fn build_with_kernels(name: &str) -> Result<Command> {
    setup::for_kernels()?;
    progress::heading(&format!(
        "Building {name} with the CUDA C++ kernels (minutes, the first time)"
    ));
    process::stream(kernels::compiled(&mut cargo(name), kernels::ALL_UNITS))?;
    Ok(Command::new(path(name)))
}

/// Features are unified over the selected packages: with `-p` instead of `--workspace`, burn and
/// CubeCL would be compiled once more for every program.
fn cargo(name: &str) -> Command {
    let mut cargo = process::cargo();
    cargo.args(["build", "--release", "--workspace", "--bin", name]);
    cargo
}

fn path(name: &str) -> PathBuf {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    workspace::target_dir().join("release").join(file)
}
