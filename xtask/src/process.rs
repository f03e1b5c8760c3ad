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
    command
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
    fn tail_keeps_the_last_lines_only() {
        let text: String = (0..20).map(|n| format!("line {n}\n")).collect();
        assert!(tail(&text).starts_with("line 12\n"));
        assert!(tail(&text).ends_with("line 19"));
        assert_eq!(tail(""), "");
    }
}
