//! Files from PyPI: a wheel is a zip archive, and Python is the one tool every machine has for both.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::install;
use crate::{process, progress};

/// Downloads `requirements` (as `name==version`) and unpacks them into `folder`.
pub(crate) fn unpack(requirements: &[&str], folder: &Path) -> Result<()> {
    let wheels = folder.join(".wheels");
    install::make(&wheels)?;
    for requirement in requirements {
        progress::step(&format!("Downloading {requirement} from PyPI"), || {
            download(requirement, &wheels)
        })?;
    }
    for entry in fs::read_dir(&wheels).with_context(|| format!("reading {}", wheels.display()))? {
        let wheel = entry?.path();
        let file = wheel.file_name().unwrap_or_default().to_string_lossy();
        // `name-version-tags.whl`
        let name = file.split('-').next().unwrap_or_default();
        progress::step(&format!("Unpacking {name}"), || {
            let mut unzip = process::python();
            process::capture(unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(folder))
                .with_context(|| format!("unpacking {name}: check the free disk space"))
        })?;
    }
    install::remove(&wheels)
}

fn download(requirement: &str, folder: &Path) -> Result<()> {
    // One retry: a machine without PyPI is to learn so within seconds, not minutes.
    let options = [
        "--no-deps",
        "--only-binary=:all:",
        "--quiet",
        "--no-input",
        "--retries=1",
    ];
    let mut pip = process::python();
    pip.args(["-m", "pip", "download", "--disable-pip-version-check"]);
    pip.args(options).arg("--dest").arg(folder).arg(requirement);
    let advice = format!(
        "{requirement} can't be downloaded: install pip (`python3 -m ensurepip`), check the network, \
         or set PIP_INDEX_URL to a mirror of PyPI, and run this again"
    );
    process::capture(&mut pip).map(drop).context(advice)
}
