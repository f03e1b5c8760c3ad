//! `cargo xtask demo`: the main job, on the real MiniLM-L6.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::setup::model;
use crate::{binary, process, progress, setup};

/// Builds the example, fetches its model and runs it with `arguments`.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    setup::for_building()?;
    let mut minilm = binary::build("minilm")?;
    if !names_a_model(arguments) {
        choose_model(&mut minilm);
    }
    progress::heading("Running minilm");
    process::stream(minilm.args(arguments))
}

/// Whether the user chose the model, so that this command must not.
fn names_a_model(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .filter_map(|argument| argument.to_str())
        .any(|argument| {
            let flag = argument.split('=').next().unwrap_or_default();
            flag == "--model" || flag == "--random"
        })
}

/// The real weights, or openly a random model: the demo must run without a network too.
fn choose_model(minilm: &mut Command) {
    match model::ensure() {
        Ok(folder) => minilm.arg("--model").arg(folder),
        Err(error) => {
            progress::note(&format!("the real MiniLM-L6 can't be had here: {error}"));
            progress::note("running a small randomly initialised model instead (--random)");
            minilm.arg("--random")
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_model_flag_counts_as_a_choice_of_model() {
        let arguments = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(names_a_model(&arguments("--text sentences.txt --random")));
        assert!(names_a_model(&arguments("--model=folder")));
        assert!(!names_a_model(&arguments("--text --modelled.txt")));
        assert!(!names_a_model(&[]));
    }
}
