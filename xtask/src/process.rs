//! Child processes: how cargo, Python and the built programs are started, and what their failure says.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Lines of a captured program's error output that a failure repeats.
const TAIL_LINES: usize = 8;

/// Cargo at the workspace's root, building where this run of cargo builds.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(workspace::root())
        .env("CARGO_TARGET_DIR", workspace::target_dir());
    for (name, _) in std::env::vars_os() {
        if is_of_outer_package(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether cargo set the variable to describe xtask itself, when it started it.
///
/// Build scripts watch such variables (ring's does): handed on, they would make a build by xtask
/// and one by hand rebuild CubeCL and Burn in turns.
fn is_of_outer_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_")
        || name.starts_with("CARGO_MANIFEST_")
        || [
            "CARGO_BIN_NAME",
            "CARGO_CRATE_NAME",
            "CARGO_PRIMARY_PACKAGE",
        ]
        .contains(&name)
}

/// The Python 3 of this machine.
pub(crate) fn python() -> Command {
    Command::new(if cfg!(windows) { "python" } else { "python3" })
}

/// Runs `command` with its output going straight to the user.
pub(crate) fn stream(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` failed ({status}); its output is above", line(command));
    }
    Ok(())
}

/// Runs `command` in silence and returns what it wrote to its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({})\n{}",
            line(command),
            output.status,
            tail(&errors)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command as one would type it.
pub(crate) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

fn cannot_start(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    format!("cannot start `{program}`: install it, or put it on PATH, and run this again")
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_names_the_command_and_its_last_words() {
        let error = capture(python().args(["-c", "import sys; sys.exit('no such wheel')"]))
            .expect_err("the program exits with a message")
            .to_string();
        assert!(error.contains("-c import sys"), "{error}");
        assert!(error.contains("no such wheel"), "{error}");
    }

    #[test]
    fn missing_program_says_what_to_do() {
        let error = stream(&mut Command::new("no-such-program-of-burn-fa2"))
            .expect_err("the program does not exist");
        assert!(error.to_string().contains("install it"), "{error}");
    }

    #[test]
    fn cargo_is_not_told_of_xtasks_own_package() {
        assert!(is_of_outer_package("CARGO_PKG_NAME"));
        assert!(is_of_outer_package("CARGO_MANIFEST_DIR"));
        assert!(!is_of_outer_package("CARGO_HOME"));
        assert!(!is_of_outer_package("CARGO_TARGET_DIR"));
        // This test runs under cargo, which has set them.
        let removed = |name: &str| {
            cargo()
                .get_envs()
                .any(|(key, value)| key == name && value.is_none())
        };
        assert!(removed("CARGO_PKG_NAME"));
    }

    #[test]
    fn tail_keeps_the_last_lines_only() {
        let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
        assert!(tail(&text).starts_with("line 12\n"));
        assert!(tail(&text).ends_with("line 19"));
        assert_eq!(tail(""), "");
    }
}
