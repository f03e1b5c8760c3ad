//! What the user sees while a step runs: a spinner on a terminal, plain lines in CI.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// Does `work` while showing `what` it does and for how long.
///
/// For silent work only: a program that prints for itself gets a [`heading`] instead.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let spinner = is_interactive().then(|| spinner(what));
    if spinner.is_none() {
        heading(what);
    }
    let result = work();
    if let Some(spinner) = spinner {
        // The spinner takes its line with it; the step stays on record.
        spinner.finish_and_clear();
        heading(what);
    }
    let outcome = if result.is_ok() { "done" } else { "failed" };
    eprintln!("    {outcome} in {}", elapsed(start));
    result
}

/// Announces a step whose program shows its own output.
pub(crate) fn heading(what: &str) {
    eprintln!("==> {what}");
}

/// Tells the user something that is not an error.
pub(crate) fn note(text: &str) {
    eprintln!("    note: {text}");
}

/// The time since `start`, in the unit a reader expects.
pub(crate) fn elapsed(start: Instant) -> String {
    let seconds = start.elapsed().as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!(
            "{:.0} min {:02.0} s",
            (seconds / 60.0).floor(),
            seconds % 60.0
        )
    }
}

fn spinner(what: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
    // The template is a constant of this file: were it wrong, the default style would do.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(TICK);
    spinner
}

fn is_interactive() -> bool {
    std::env::var_os("CI").is_none() && std::io::stderr().is_terminal()
}
