//! Installing a folder atomically: it is filled beside its place and renamed when it is whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A folder that is installed once.
pub(crate) struct Install {
    /// Where it will lie.
    pub(crate) folder: PathBuf,
    /// A file in it that says that it is whole.
    pub(crate) marker: &'static str,
    /// What the marker must contain, so that a changed pin installs anew; `None` accepts any content.
    pub(crate) stamp: Option<String>,
}

impl Install {
    /// Whether the folder is there, whole and of this stamp.
    pub(crate) fn is_done(&self) -> bool {
        let marker = self.folder.join(self.marker);
        match &self.stamp {
            Some(stamp) => fs::read_to_string(marker).is_ok_and(|text| text == *stamp),
            None => marker.is_file(),
        }
    }

    /// Has `fill` fill an empty folder and moves it to its place, unless it is there already.
    ///
    /// An interrupted run leaves only the folder beside, which the next run clears.
    pub(crate) fn run(&self, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let parent = self
            .folder
            .parent()
            .context("an installed folder has a parent")?;
        make(parent)?;
        // Two commands at once: the second waits here, then finds the folder whole.
        let lock_path = self.beside("lock");
        let lock = File::create(&lock_path).with_context(|| cannot_write(&lock_path))?;
        lock.lock()
            .with_context(|| format!("cannot lock {}", lock_path.display()))?;
        if self.is_done() {
            return Ok(());
        }

        let partial = self.beside("partial");
        remove(&partial)?;
        make(&partial)?;
        fill(&partial)?;
        let marker = partial.join(self.marker);
        fs::write(&marker, self.stamp.as_deref().unwrap_or_default())
            .with_context(|| cannot_write(&marker))?;
        // Whatever lies there lacks the marker or has another stamp.
        remove(&self.folder)?;
        fs::rename(&partial, &self.folder)
            .with_context(|| format!("cannot move {} into place", partial.display()))
    }

    /// `<folder>.<suffix>`: on the same file system, as a rename must be.
    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.folder.clone().into_os_string();
        name.push(".");
        name.push(suffix);
        name.into()
    }
}

/// Marks every file of `folder` as executable; wheels unpacked by Python lose that bit.
pub(crate) fn make_executable(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        use std::os::unix::fs::PermissionsExt;
        let path = entry?.path();
        if path.is_file() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .with_context(|| cannot_write(&path))?;
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Creates `folder` with its parents.
pub(crate) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| cannot_write(folder))
}

/// Removes `folder`, which need not exist.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder)
        .with_context(|| format!("cannot remove {}; remove it by hand", folder.display()))
}

fn cannot_write(path: &Path) -> String {
    format!(
        "cannot write {}: check its permissions and the free disk space",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn fresh(name: &str, stamp: &str) -> Install {
        let root =
            std::env::temp_dir().join(format!("xtask-install-{}-{name}", std::process::id()));
        remove(&root).expect("the test's folder can be cleared");
        Install {
            folder: root.join("thing"),
            marker: ".whole",
            stamp: Some(stamp.to_owned()),
        }
    }

    fn write_file(folder: &Path) -> Result<()> {
        Ok(fs::write(folder.join("file"), "content")?)
    }

    fn clear(install: &Install) {
        let root = install
            .folder
            .parent()
            .expect("the test's folder has a parent");
        remove(root).expect("the test's folder can be cleared");
    }

    #[test]
    fn second_run_does_nothing() {
        let install = fresh("second", "1");
        install
            .run(write_file)
            .expect("the first run fills the folder");
        install
            .run(|_| bail!("filled twice"))
            .expect("the second run finds it");
        assert!(install.folder.join("file").is_file());
        clear(&install);
    }

    #[test]
    fn interrupted_fill_is_not_taken_for_a_finished_one() {
        let install = fresh("interrupted", "1");
        let failure = install.run(|folder| {
            write_file(folder)?;
            bail!("interrupted")
        });
        assert!(failure.is_err() && !install.is_done() && !install.folder.exists());
        install
            .run(|folder| {
                assert!(
                    !folder.join("file").exists(),
                    "the rest of the first run is cleared"
                );
                write_file(folder)
            })
            .expect("the next run recovers");
        assert!(install.is_done());
        clear(&install);
    }

    #[test]
    fn folder_without_its_marker_is_replaced() {
        let install = fresh("unmarked", "1");
        make(&install.folder).expect("the test's folder can be made");
        install
            .run(write_file)
            .expect("an unmarked folder is replaced");
        assert!(install.folder.join("file").is_file() && install.is_done());
        clear(&install);
    }

    #[test]
    fn changed_stamp_installs_anew() {
        let mut install = fresh("stamp", "1");
        install
            .run(write_file)
            .expect("the first run fills the folder");
        install.stamp = Some("2".to_owned());
        assert!(!install.is_done());
        install
            .run(write_file)
            .expect("the changed pin installs anew");
        assert!(install.is_done());
        clear(&install);
    }
}
