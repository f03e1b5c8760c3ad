//! What a run found or measured, as text or as JSON.

use crate::error::CommandError;
use ptx_machine::{Measures, Violation};
use serde::Serialize;
use std::io::Write;

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// A clean run has measures, any other one violations.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Report {
    Measures(Measures),
    Violations(Vec<Violation>),
}

impl Report {
    /// Prints to the standard output.
    pub(crate) fn print(&self, format: Format) -> Result<(), CommandError> {
        let mut out = std::io::stdout().lock();
        match (format, self) {
            (Format::Json, report) => {
                serde_json::to_writer_pretty(&mut out, report)?;
                writeln!(out)?;
            }
            (Format::Text, Self::Measures(measures)) => writeln!(out, "{measures}")?,
            (Format::Text, Self::Violations(violations)) => {
                for violation in violations {
                    writeln!(out, "{violation}")?;
                }
                writeln!(out, "{} violations", violations.len())?;
            }
        }
        Ok(())
    }
}
