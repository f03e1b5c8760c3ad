//! `cargo xtask test`: everything that can be tested without a GPU; CI runs exactly this.

use std::time::Instant;

use anyhow::Result;

use crate::setup::cuda_tools;
use crate::{check, kernels, process, progress, setup, tidy};

/// Runs the checks that take no build first, then every test of the workspace, doc tests included.
pub(crate) fn run(commands: &[String]) -> Result<()> {
    let start = Instant::now();
    check::format()?;
    tidy::run(commands)?;
    let tools = setup::for_code_checks()?;

    progress::heading("Testing the workspace (the first build compiles Burn and CubeCL)");
    // One failing crate must not hide the failures of the next: CI is a single run.
    let arguments = ["test", "--release", "--workspace", "--no-fail-fast"];
    process::stream(
        process::cargo()
            .args(arguments)
            .env(cuda_tools::VARIABLE, tools),
    )?;
    kernels::test()?;
    progress::heading(&format!(
        "Every test passed in {}",
        progress::elapsed(start)
    ));
    Ok(())
}
