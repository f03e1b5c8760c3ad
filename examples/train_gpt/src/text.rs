//! What is learned: a file, or this repository's own sources and documents.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Files of the repository by which ending are read.
const ENDINGS: [&str; 7] = ["cu", "cuh", "h", "md", "py", "rs", "toml"];
/// Folders that hold what was built or fetched; hidden ones are left out as well.
const SKIPPED: [&str; 1] = ["target"];
/// What the root's manifest has and no other.
const ROOT_MARK: &str = "[workspace]";
/// Any seed does; a fixed one makes two runs read the same text.
const ORDER_SEED: u64 = 1;

/// Bytes to learn from.
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    /// For the reader: where they come from.
    pub(crate) name: String,
}

impl Text {
    /// Reads `file`, or the repository around the working directory.
    pub(crate) fn read(file: Option<&Path>) -> Result<Self> {
        match file {
            Some(file) => {
                let bytes = fs::read(file)
                    .with_context(|| format!("--text {}: can't be read", file.display()))?;
                let name = file.display().to_string();
                Ok(Self { bytes, name })
            }
            None => Self::of_repository(&root()?),
        }
    }

    /// All sources and documents below `root`.
    ///
    /// In a shuffled order: the part that is held out is the end of the text, and in the order of
    /// their names it would be one folder that is like no other.
    fn of_repository(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, &mut files)?;
        files.sort();
        files.shuffle(&mut StdRng::seed_from_u64(ORDER_SEED));
        let mut bytes = Vec::new();
        for file in &files {
            let read = fs::read(file).with_context(|| format!("{}: can't be read", file.display()));
            bytes.extend(read?);
            bytes.push(b'\n');
        }
        ensure!(
            !bytes.is_empty(),
            "{} holds no text: name a file with --text FILE",
            root.display()
        );
        let name = format!("{} files of this repository", files.len());
        Ok(Self { bytes, name })
    }

    /// FNV-1a of the bytes: tells one text from another, in every version of this program.
    pub(crate) fn fingerprint(&self) -> u64 {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        self.bytes.iter().fold(OFFSET, step)
    }
}

/// The folder at or above the working directory with the workspace's manifest.
fn root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the working directory is gone")?;
    let is_root = |folder: &&Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line == ROOT_MARK)
    };
    let found = here.ancestors().find(is_root);
    found.map(Path::to_path_buf).context(
        "the working directory is not in the repository, whose text is the default: \
         go there, or name a file with --text FILE",
    )
}

/// Adds the text files below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = || format!("{}: can't be listed", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let kind = entry.file_type().with_context(unreadable)?;
        if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&&*name) {
            collect(&path, files)?;
        } else if kind.is_file()
            && let Some((_, ending)) = name.rsplit_once('.')
            && ENDINGS.contains(&ending)
        {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_found_and_holds_this_very_file() {
        let text = Text::read(None).expect("tests run inside of the repository");
        let marker = b"a sentence that is nowhere else";
        assert!(text.bytes.windows(marker.len()).any(|part| part == marker));
        assert!(text.name.contains("repository"), "{}", text.name);
    }

    #[test]
    fn one_changed_byte_changes_the_fingerprint() {
        let of = |bytes: &[u8]| {
            let (bytes, name) = (bytes.to_vec(), String::new());
            Text { bytes, name }.fingerprint()
        };
        assert_eq!(of(b"text"), of(b"text"));
        assert_ne!(of(b"text"), of(b"test"));
        // The published value of FNV-1a, 64 bits, for the letter a.
        assert_eq!(of(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Text::read(Some(Path::new("no/such/file"))).err().unwrap();
        assert!(error.to_string().contains("no/such/file"), "{error}");
    }
}
