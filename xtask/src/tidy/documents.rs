//! Documents that say what the tree says: paths of ARCHITECTURE.md exist, README.md names the commands.

use std::collections::BTreeSet;

use super::tree::SourceFile;
use super::{Finding, show};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const README: &str = "README.md";
/// How README.md calls a command.
const CALL: &str = "cargo xtask ";
/// Endings by which a word is taken for a path; a folder ends with `/`.
const PATH_ENDS: [&str; 9] = [
    "/", ".rs", ".toml", ".md", ".py", ".json", ".cu", ".cuh", ".tsv",
];

/// Holds both documents to the tree; a document that is not there is a finding.
pub(super) fn check(files: &[SourceFile], commands: &[String]) -> Vec<String> {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let text_of = |name| {
        files
            .iter()
            .find(|file| file.path == name)
            .map(|file| &file.text)
    };
    let missing = |name| vec![Finding::new(0, format!("{name} is missing: write it"))];
    let architecture = text_of(ARCHITECTURE)
        .map_or_else(|| missing(ARCHITECTURE), |text| paths_exist(text, &paths));
    let readme =
        text_of(README).map_or_else(|| missing(README), |text| names_commands(text, commands));
    let architecture = architecture
        .iter()
        .map(|finding| show(ARCHITECTURE, finding));
    architecture
        .chain(readme.iter().map(|finding| show(README, finding)))
        .collect()
}

/// Every path in backticks exists: from the root, or as the end of a path (`softmax/reduce.rs`).
fn paths_exist(text: &str, paths: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        // The odd pieces between backticks are the quoted ones.
        for quoted in text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|quoted| is_path(quoted))
        {
            if !exists(quoted, paths) {
                findings.push(Finding::new(line, format!("`{quoted}` does not exist")));
            }
        }
    }
    findings
}

/// Whether a word in backticks means a path.
fn is_path(quoted: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./*".contains(c);
    quoted.chars().all(is_plain) && PATH_ENDS.iter().any(|end| quoted.ends_with(end))
}

/// Whether `quoted` is a file or a folder; a leading `*/` stands for any folders.
fn exists(quoted: &str, paths: &[&str]) -> bool {
    let wanted = quoted.trim_start_matches("*/").trim_start_matches("./");
    let at_component = |at: usize, path: &str| at == 0 || path[..at].ends_with('/');
    paths.iter().any(|path| {
        path.match_indices(wanted).any(|(at, _)| {
            at_component(at, path) && (wanted.ends_with('/') || at + wanted.len() == path.len())
        })
    })
}

/// Every command that exists is named, and no other.
fn names_commands(text: &str, commands: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut named = BTreeSet::new();
    for (line, text) in (1..).zip(text.lines()) {
        for (at, _) in text.match_indices(CALL) {
            let rest = &text[at + CALL.len()..];
            let name = rest
                .split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default();
            named.insert(name);
            let is_placeholder = name.chars().all(|c| c.is_ascii_uppercase());
            if !is_placeholder && !commands.iter().any(|command| command == name) {
                findings.push(Finding::new(
                    line,
                    format!("there is no command `{CALL}{name}`"),
                ));
            }
        }
    }
    let unnamed = commands
        .iter()
        .filter(|command| !named.contains(command.as_str()));
    findings
        .extend(unnamed.map(|command| Finding::new(0, format!("`{CALL}{command}` is not named"))));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_missing(text: &str) -> usize {
        paths_exist(
            text,
            &["crates/fa2-cubecl/src/softmax/reduce.rs", "Cargo.toml"],
        )
        .len()
    }

    #[test]
    fn path_that_does_not_exist_is_found() {
        assert_eq!(count_missing("see `crates/gone.rs`\nand `docs/`"), 2);
        assert_eq!(count_missing("see `reduce.r.rs`, `educe.rs` and `fa2/`"), 3);
    }

    #[test]
    fn existing_path_passes_whole_or_as_an_end() {
        let text = "`crates/fa2-cubecl/`, `softmax/reduce.rs`, `*/reduce.rs`, `Cargo.toml`, `src/`";
        assert_eq!(count_missing(text), 0);
    }

    #[test]
    fn words_that_are_no_path_are_left_alone() {
        assert_eq!(
            count_missing("`Hq/Hkv`, `burn::tensor`, `cargo xtask test`, `a, b.rs`, x.rs"),
            0
        );
    }

    #[test]
    fn readme_and_commands_agree() {
        let commands = ["demo", "test"].map(str::to_owned);
        assert!(
            names_commands("`cargo xtask demo`\n\n    cargo xtask test\n", &commands).is_empty()
        );
        assert_eq!(names_commands("`cargo xtask demo`", &commands).len(), 1);
        let findings = names_commands(
            "`cargo xtask demo|cargo xtask test`\ncargo xtask tset",
            &commands,
        );
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
    }

    #[test]
    fn missing_document_is_a_finding() {
        let report = check(
            &[SourceFile::new(README, "cargo xtask test")],
            &["test".to_owned()],
        );
        assert_eq!(
            report,
            ["ARCHITECTURE.md: ARCHITECTURE.md is missing: write it"]
        );
    }
}
