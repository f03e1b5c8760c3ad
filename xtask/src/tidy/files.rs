//! One file, one idea: what it may be called, how it begins and how long it may be.

use super::Finding;
use super::tree::SourceFile;

/// Names that promise no idea, for a file or for a folder.
const NAMELESS: [&str; 7] = [
    "base", "common", "helper", "helpers", "misc", "util", "utils",
];
/// Lines of code from which a file needs a place in [`LONG`].
const SOFT_LIMIT: usize = 300;
/// Lines of code that no file has.
const HARD_LIMIT: usize = 400;
/// Files of one idea that takes more than [`SOFT_LIMIT`] lines; a reviewer agreed to each.
const LONG: [&str; 0] = [];

/// The first line of a Rust file says its idea.
pub(super) fn begins_with_its_idea(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() || file.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![Finding::new(
        1,
        "the first line must be `//! ` and the idea of this file",
    )]
}

/// No file or folder has a name that would fit anything.
pub(super) fn is_named_after_its_idea(file: &SourceFile) -> Vec<Finding> {
    let names = file
        .path
        .split('/')
        .map(|name| name.split('.').next().unwrap_or_default());
    names
        .filter(|name| NAMELESS.contains(name))
        .map(|name| {
            Finding::new(
                0,
                format!("`{name}` names no idea: call it after what it holds"),
            )
        })
        .collect()
}

/// A file is short; blank lines and comments don't count.
pub(super) fn is_short(file: &SourceFile) -> Vec<Finding> {
    let lines = file
        .code_lines()
        .filter(|(_, code)| !code.trim().is_empty())
        .count();
    let limit = if LONG.contains(&file.path.as_str()) {
        HARD_LIMIT
    } else {
        SOFT_LIMIT
    };
    if lines <= limit {
        return Vec::new();
    }
    vec![Finding::new(
        0,
        format!("{lines} lines of code, the limit is {limit}: split it by idea, not by size"),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_idea_is_found() {
        let file = |text| SourceFile::new("crates/x/src/shape.rs", text);
        assert_eq!(begins_with_its_idea(&file("use x;\n//! Late.\n")).len(), 1);
        assert_eq!(begins_with_its_idea(&file("")).len(), 1);
        assert_eq!(begins_with_its_idea(&file("//! A shape.\n")).len(), 0);
        assert_eq!(
            begins_with_its_idea(&SourceFile::new("x.py", "import x")).len(),
            0
        );
    }

    #[test]
    fn nameless_files_and_folders_are_found() {
        let count = |path| is_named_after_its_idea(&SourceFile::new(path, "")).len();
        assert_eq!(count("crates/x/src/utils.rs"), 1);
        assert_eq!(count("crates/x/tests/common/mod.rs"), 1);
        assert_eq!(count("kernels/include/fa2/misc.cuh"), 1);
        assert_eq!(count("crates/x/src/uncommon.rs"), 0);
    }

    #[test]
    fn only_code_counts_for_the_length() {
        let file = |text: String| SourceFile::new("crates/x/src/shape.rs", &text);
        assert!(is_short(&file("let a;\n".repeat(SOFT_LIMIT))).is_empty());
        assert!(is_short(&file("// why\n\n".repeat(HARD_LIMIT))).is_empty());
        assert_eq!(is_short(&file("let a;\n".repeat(SOFT_LIMIT + 1))).len(), 1);
    }
}
