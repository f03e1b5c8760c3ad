//! How the long steps show that they are alive. On stderr, and only where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const FRAME: Duration = Duration::from_millis(100);

/// For a step of unknown length.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_style(style("{spinner} {msg} ({elapsed})"));
    spinner.set_message(what.to_string());
    spinner.enable_steady_tick(FRAME);
    spinner
}

/// For `steps` steps.
pub(crate) fn bar(what: &str, steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64)
        .with_style(style("{spinner} {msg} [{bar:30}] {pos}/{len} ({elapsed})"));
    bar.set_message(what.to_string());
    bar.enable_steady_tick(FRAME);
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates of this file are valid")
}
