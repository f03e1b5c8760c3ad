//! Building a program of the workspace the one way that shares every compiled crate with the tests.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{process, progress, workspace};

/// Builds the binary `name` and returns a command that runs it where the user stands.
pub(crate) fn build(name: &str) -> Result<Command> {
    progress::heading(&format!(
        "Building {name} (the first build compiles Burn and CubeCL)"
    ));
    // Features are unified over the selected packages: with `-p` instead of `--workspace`, burn and
    // CubeCL would be compiled once more for every program.
    process::stream(process::cargo().args(["build", "--release", "--workspace", "--bin", name]))?;
    Ok(Command::new(path(name)))
}

fn path(name: &str) -> PathBuf {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    workspace::target_dir().join("release").join(file)
}
