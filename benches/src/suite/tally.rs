//! Counts checks and prints those that failed, or all.

use indicatif::ProgressBar;
use std::fmt::Display;
use std::time::Instant;

/// Checks so far.
pub struct Tally {
    passed: usize,
    failed: usize,
    progress: ProgressBar,
    is_verbose: bool,
    start: Instant,
}

impl Tally {
    /// No check yet. With `is_verbose` each that ends has a line.
    #[must_use]
    pub fn new(progress: ProgressBar, is_verbose: bool) -> Self {
        Self {
            passed: 0,
            failed: 0,
            progress,
            is_verbose,
            start: Instant::now(),
        }
    }

    /// Records a check; `Err` says what went wrong.
    pub fn record(&mut self, name: impl Display, result: Result<(), String>) {
        self.progress.set_message(name.to_string());
        self.progress.inc(1);
        match result {
            Ok(()) => {
                self.passed += 1;
                if self.is_verbose {
                    let seconds = self.start.elapsed().as_secs_f64();
                    self.say(format!("{seconds:8.1} s  {name}"));
                }
            }
            Err(reason) => {
                self.failed += 1;
                self.say(format!("FAILED {name}: {reason}"));
            }
        }
    }

    /// Prints a line without disturbing the progress.
    pub fn say(&self, line: impl AsRef<str>) {
        self.progress.suspend(|| println!("{}", line.as_ref()));
    }

    /// Prints the closing line and returns how many checks failed.
    #[must_use]
    pub fn finish(self) -> usize {
        self.progress.finish_and_clear();
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed
    }
}
