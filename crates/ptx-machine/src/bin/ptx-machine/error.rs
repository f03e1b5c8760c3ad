//! Why a kernel could not run, or its results could not be had.

use ptx_machine::{LaunchError, MemoryError, ParseError};
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum CommandError {
    #[error("{}: {error}", path.display())]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{}, {error}", path.display())]
    Parse { path: PathBuf, error: ParseError },
    #[error("no buffer is called {name}; {}", known(.names))]
    UnknownBuffer { name: String, names: Vec<String> },
    #[error("two buffers are called {name}")]
    DuplicateBuffer { name: String },
    /// Violations are no error of the command: they are its result.
    #[error(transparent)]
    Launch(LaunchError),
    #[error("reading a buffer: {0}")]
    Memory(#[from] MemoryError),
    #[error("printing: {0}")]
    Print(#[from] std::io::Error),
    #[error("printing: {0}")]
    Json(#[from] serde_json::Error),
}

fn known(names: &[String]) -> String {
    match names {
        [] => "there are none: name one with --buffer".to_owned(),
        names => format!("there are {}", names.join(", ")),
    }
}
