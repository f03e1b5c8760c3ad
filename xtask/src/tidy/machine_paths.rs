//! No file names a folder of the machine on which it was written.

use super::Finding;
use super::code::is_identifier;
use super::tree::SourceFile;

/// Folders that exist on some machines only.
const FOLDERS: [&str; 3] = ["/home/", "/root/", "/tmp/"];
/// This file, which must name them.
const SELF: &str = "xtask/src/tidy/machine_paths.rs";

/// No absolute path of a machine, in code, text, script or record.
pub(super) fn names_no_machine_path(file: &SourceFile) -> Vec<Finding> {
    if file.path == SELF {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (line, text) in file.lines() {
        if let Some(folder) = FOLDERS.iter().find(|folder| has_absolute(text, folder)) {
            let message = format!("`{folder}` is a path of one machine: make it relative");
            findings.push(Finding::new(line, message));
        }
    }
    findings
}

/// Whether `folder` is in `text` at the beginning of a path, not inside one (`xtask/home/`).
fn has_absolute(text: &str, folder: &str) -> bool {
    let continues_path =
        |c: char| is_identifier(c) || matches!(c, '.' | '-' | '~' | '}' | ')' | '*');
    text.match_indices(folder)
        .any(|(at, _)| !text[..at].chars().next_back().is_some_and(continues_path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_paths_are_found_and_relative_ones_are_not() {
        let count = |text| names_no_machine_path(&SourceFile::new("docs/x.md", text)).len();
        assert_eq!(count("run `/home/main/x`\ncd /root/x\n\"/tmp/x\"\n"), 3);
        assert_eq!(
            count("frame/home/x, $HOME/tmp/x, ${DIR}/tmp/x, ./root/x, /homework/\n"),
            0
        );
    }
}
