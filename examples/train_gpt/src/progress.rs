//! A run shows that it is alive: a bar where stderr is a terminal, lines on stdout everywhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const FRAME: Duration = Duration::from_millis(100);

/// A bar of `steps` steps, of which `done` are done.
pub(crate) fn bar(what: &str, steps: usize, done: usize) -> ProgressBar {
    let style = "{spinner} {prefix} [{bar:30}] {pos}/{len} ({elapsed}, {eta} left) {msg}";
    let style = ProgressStyle::with_template(style).expect("the template of this file is valid");
    let bar = ProgressBar::new(steps as u64).with_style(style);
    bar.set_prefix(what.to_string());
    bar.set_position(done as u64);
    bar.reset_eta();
    bar.enable_steady_tick(FRAME);
    bar
}

/// Prints a line above the bar.
pub(crate) fn say(bar: &ProgressBar, line: &str) {
    // `ProgressBar::println` says nothing where there is no terminal.
    bar.suspend(|| println!("{line}"));
}
