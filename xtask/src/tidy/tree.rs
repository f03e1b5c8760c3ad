//! The files that tidy reads: every text file of the workspace that git would keep.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::code;

/// One text file.
pub(super) struct SourceFile {
    /// Its path from the workspace's root, with `/`.
    pub(super) path: String,
    /// Its text as it is.
    pub(super) text: String,
    /// Rust only: the text with comments and literals blanked, line for line.
    pub(super) code: String,
}

impl SourceFile {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") {
            code::blank(text)
        } else {
            String::new()
        };
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
        }
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The lines of the text, numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// The lines of the code, numbered from 1.
    pub(super) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.code.lines())
    }
}

/// Reads every file under `root`.
///
/// Git is not asked: a source archive without its history is checked as well. Of `.gitignore`, the
/// folders at the top (`/target/`) are understood.
pub(super) fn read(root: &Path) -> Result<Vec<SourceFile>> {
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let mut skipped: Vec<&str> = ignored.lines().filter_map(top_folder).collect();
    skipped.push(".git");
    let mut files = Vec::new();
    walk(root, "", &skipped, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// `target` of the `.gitignore` line `/target/`.
fn top_folder(line: &str) -> Option<&str> {
    line.strip_prefix('/')?.strip_suffix('/')
}

/// Reads the folder `path` of `root`; `skipped` counts at the top only.
fn walk(root: &Path, path: &str, skipped: &[&str], files: &mut Vec<SourceFile>) -> Result<()> {
    let folder = root.join(path);
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let child = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}/{name}")
        };
        if skipped.contains(&child.as_str()) || name == "__pycache__" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(root, &child, skipped, files)?;
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            // What is not UTF-8 is no source.
            files.push(SourceFile::new(&child, &text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_top_folders_of_gitignore_are_understood() {
        assert_eq!(top_folder("/target/"), Some("target"));
        assert_eq!(top_folder("*.log"), None);
        assert_eq!(top_folder("# /target/"), None);
    }

    #[test]
    fn workspace_is_read_without_its_build_output() {
        let files = read(&crate::workspace::root()).expect("the workspace can be read");
        assert!(
            files
                .iter()
                .any(|file| file.path == "xtask/src/tidy/tree.rs")
        );
        assert!(!files.iter().any(|file| file.path.starts_with("target/")));
        assert!(!files.iter().any(|file| file.path.starts_with(".git/")));
    }
}
