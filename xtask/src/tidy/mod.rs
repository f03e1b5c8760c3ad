//! `cargo xtask tidy`: the rules of STYLE.md and ARCHITECTURE.md that a program can check.
//!
//! A rule is a pure function of one file; each file here holds the rules of one idea, with the
//! message that the author of a violation reads.

mod code;
mod direction;
mod documents;
mod files;
mod idioms;
mod machine_paths;
mod manifest;
mod owners;
mod tree;

use anyhow::{Result, bail};

use crate::{progress, workspace};
use tree::SourceFile;

/// One violation of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// The line, from 1; 0 where the whole file is meant.
    line: usize,
    /// What is wrong and what to do.
    message: String,
}

impl Finding {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

/// A rule about one file.
type Rule = fn(&SourceFile) -> Vec<Finding>;

const RULES: [Rule; 11] = [
    direction::uses_point_down,
    files::begins_with_its_idea,
    files::is_named_after_its_idea,
    files::is_short,
    idioms::has_no_commented_out_code,
    idioms::has_no_glob_reexport,
    idioms::has_no_loose_end,
    idioms::has_no_todo_without_issue,
    machine_paths::names_no_machine_path,
    manifest::dependencies_are_allowed,
    owners::names_are_used_at_home,
];

/// Checks every file of the workspace; `commands` are those that README.md must name.
pub(crate) fn run(commands: &[String]) -> Result<()> {
    progress::heading("Checking the rules of STYLE.md and ARCHITECTURE.md");
    let files = tree::read(&workspace::root())?;
    let mut report: Vec<String> = files.iter().flat_map(check_file).collect();
    report.extend(documents::check(&files, commands));
    for line in &report {
        eprintln!("{line}");
    }
    if !report.is_empty() {
        bail!(
            "tidy: {} findings in {} files; repair them and run this again",
            report.len(),
            files.len()
        );
    }
    Ok(())
}

fn check_file(file: &SourceFile) -> Vec<String> {
    let findings = RULES.iter().flat_map(|rule| rule(file));
    findings.map(|finding| show(&file.path, &finding)).collect()
}

/// A finding as editors and terminals make it clickable.
fn show(path: &str, finding: &Finding) -> String {
    match finding.line {
        0 => format!("{path}: {}", finding.message),
        line => format!("{path}:{line}: {}", finding.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_file_has_no_finding() {
        let file = SourceFile::new("crates/x/src/shape.rs", "//! A shape.\n\nstruct Shape;\n");
        assert!(check_file(&file).is_empty());
    }

    #[test]
    fn finding_points_at_its_line() {
        let file = SourceFile::new(
            "crates/x/src/shape.rs",
            "//! A shape.\n\nfn f() { todo!() }\n",
        );
        let report = check_file(&file);
        assert_eq!(report.len(), 1);
        assert!(
            report[0].starts_with("crates/x/src/shape.rs:3: "),
            "{}",
            report[0]
        );
    }
}
