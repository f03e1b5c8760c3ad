//! The static LLVM that CubeCL's CUDA runtime links, from PyPI where its release page is out of reach.
//!
//! `tracel-llvm-bundler` downloads it while it is being built and panics where it can't. It first looks
//! for a folder with a marker in the data-local directory; this puts the same LLVM there.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{install, install::Install, wheel};
use crate::{process, progress};

/// The bundler's version in Cargo.lock: LLVM's version, then the number of its release.
const BUNDLER: &str = "23.1.0-4";
/// The bundler's sign that an installation is whole.
const MARKER: &str = ".tracel-llvm-installed";
/// Where the bundler downloads from.
const RELEASES: &str = "https://github.com/tracel-ai/tracel-llvm/releases/download";
/// The same LLVM in wheels; the second has the NVPTX target.
const WHEELS: [&str; 2] = [
    "mlc-llvm-static==23.1.1.post0",
    "mlc-llvm-static-extra-targets==23.1.1.post0",
];
/// Where in the wheels LLVM lies.
const IN_WHEELS: &str = "mlc_llvm_static/static";
/// Asks for one byte of `argv[1]`; the exit status says whether it came within 5 seconds.
const PROBE: &str =
    "import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1]), timeout=5).read(1)";

/// Where the LLVM of the coming build is.
pub(crate) enum Llvm {
    /// In the bundler's folder.
    Installed,
    /// At the release page, which can be reached: the bundler fetches it while it is being built.
    LeftToBundler,
}

impl fmt::Display for Llvm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installed => write!(f, "LLVM {BUNDLER} is installed"),
            Self::LeftToBundler => write!(f, "LLVM {BUNDLER} comes with the build"),
        }
    }
}

/// Sees to it that the bundler will find LLVM.
pub(crate) fn ensure() -> Result<Llvm> {
    let install = Install {
        folder: folder()?,
        marker: MARKER,
        stamp: None,
    };
    if install.is_done() {
        return Ok(Llvm::Installed);
    }
    if release_page_answers()? {
        return Ok(Llvm::LeftToBundler);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!(
            "the release page {RELEASES} can't be reached, and PyPI has this LLVM for Linux x86-64 \
             only. Download this platform's archive of v{BUNDLER} on a machine that reaches the page, \
             unpack it so that {folder} exists, create the empty file {MARKER} in it, and run this \
             again",
            folder = install.folder.display()
        );
    }
    install.run(fill)?;
    Ok(Llvm::Installed)
}

/// The folder in which the bundler looks.
fn folder() -> Result<PathBuf> {
    let data = dirs::data_local_dir().context("no data-local directory: set HOME and try again")?;
    Ok(data.join("tracel").join(format!("tracel-llvm-{BUNDLER}")))
}

fn release_page_answers() -> Result<bool> {
    let url = format!("{RELEASES}/v{BUNDLER}/linux-x64.checksums.json");
    progress::step("Looking for LLVM's release page", || {
        let output = process::python()
            .args(["-c", PROBE, &url])
            .output()
            .context("cannot start Python: install Python 3 and put it on PATH")?;
        Ok(output.status.success())
    })
}

fn fill(folder: &Path) -> Result<()> {
    progress::note("the release page can't be reached; taking the same LLVM from PyPI (90 MB)");
    wheel::unpack(&WHEELS, folder)?;
    let unpacked = folder.join(IN_WHEELS);
    for entry in fs::read_dir(&unpacked).with_context(|| format!("{WHEELS:?}: no {IN_WHEELS}"))? {
        let entry = entry?;
        fs::rename(entry.path(), folder.join(entry.file_name()))?;
    }
    install::remove(&folder.join("mlc_llvm_static"))?;
    install::make_executable(&folder.join("bin"))?;
    check(folder)
}

/// Asks llvm-config what the build will ask it.
fn check(folder: &Path) -> Result<()> {
    let mut config = Command::new(folder.join("bin/llvm-config"));
    let libraries = process::capture(config.args(["--link-static", "--libs"]))?;
    ensure!(
        libraries.contains("LLVMNVPTXCodeGen"),
        "the LLVM of {WHEELS:?} has no NVPTX target"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    /// The folder's name follows the bundler's version: another one would not be found.
    #[test]
    fn pin_is_the_bundler_of_cargo_lock() {
        let lock = fs::read_to_string(workspace::root().join("Cargo.lock"))
            .expect("the workspace has a Cargo.lock");
        let pin = format!("name = \"tracel-llvm-bundler\"\nversion = \"{BUNDLER}\"");
        assert!(
            lock.contains(&pin),
            "Cargo.lock has another tracel-llvm-bundler than {BUNDLER}"
        );
    }
}
