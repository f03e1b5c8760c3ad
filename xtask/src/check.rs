//! `cargo xtask check`: what a change must pass before review, cheapest check first.

use std::process::Command;

use anyhow::Result;

use crate::{process, progress, setup, tidy, workspace};

/// A checker that this project configures but does not bring.
struct Optional {
    /// How it is called, with its arguments.
    call: &'static [&'static str],
    /// How to get it.
    install: &'static str,
}

const TYPOS: Optional = Optional {
    call: &["typos"],
    install: "cargo install typos-cli --locked",
};
const DENY: Optional = Optional {
    call: &["cargo-deny", "check"],
    install: "cargo install cargo-deny --locked",
};

/// Runs every check; the first failure ends it.
pub(crate) fn run(commands: &[String]) -> Result<()> {
    format()?;
    tidy::run(commands)?;
    optional(&TYPOS)?;
    optional(&DENY)?;
    setup::for_building()?;
    lints()?;
    documentation()?;
    light_build()?;
    progress::heading("Every check passed");
    Ok(())
}

/// Formatting; `cargo xtask test` begins with it as well.
pub(crate) fn format() -> Result<()> {
    progress::heading("Checking the format (cargo fmt --all repairs it)");
    process::stream(process::cargo().args(["fmt", "--all", "--check"]))
}

fn lints() -> Result<()> {
    progress::heading("Checking lints");
    let selection = ["clippy", "--release", "--workspace", "--all-targets"];
    process::stream(
        process::cargo()
            .args(selection)
            .args(["--", "-D", "warnings"]),
    )
}

fn documentation() -> Result<()> {
    progress::heading("Building the documentation");
    let selection = ["doc", "--release", "--workspace", "--no-deps"];
    process::stream(
        process::cargo()
            .args(selection)
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

/// burn-fa2 without CUDA: it must build without CubeCL and without LLVM.
fn light_build() -> Result<()> {
    progress::heading("Building burn-fa2 light (no CUDA, no CubeCL)");
    let selection = [
        "check",
        "--release",
        "-p",
        "burn-fa2",
        "--no-default-features",
    ];
    // The one build with other features, so it gets a folder of its own.
    let folder = workspace::target_dir().join("light");
    process::stream(
        process::cargo()
            .args(selection)
            .args(["--features", "flex"])
            .env("CARGO_TARGET_DIR", folder),
    )
}

/// Runs a checker where it is installed and says so where it is not.
fn optional(checker: &Optional) -> Result<()> {
    let [program, arguments @ ..] = checker.call else {
        return Ok(());
    };
    if process::capture(Command::new(program).arg("--version")).is_err() {
        progress::note(&format!(
            "{program} skipped: not installed ({})",
            checker.install
        ));
        return Ok(());
    }
    progress::heading(&format!("Running {program}"));
    process::stream(
        Command::new(program)
            .args(arguments)
            .current_dir(workspace::root()),
    )
}
