//! Habits that no file may have: open ends, glob re-exports, code kept as a comment.

use super::Finding;
use super::code::has_word;
use super::tree::SourceFile;

/// Code that is not finished, or a test that does not run.
const LOOSE_ENDS: [&str; 4] = ["todo!", "unimplemented!", "dbg!", "#[ignore"];
/// How a line of code begins that was commented out ...
const CODE_BEGINNINGS: [&str; 5] = ["let ", "for ", "if ", "fn ", "pub "];
/// ... and how it ends; prose rarely does both.
const CODE_ENDS: [char; 2] = ['{', ';'];

/// Nothing is unfinished and no test is switched off.
pub(super) fn has_no_loose_end(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, code) in file.code_lines() {
        if let Some(end) = LOOSE_ENDS.iter().find(|end| has_word(code, end)) {
            findings.push(Finding::new(
                line,
                format!("`{end}` must not be committed: finish it"),
            ));
        }
    }
    findings
}

/// Every re-export is a list of names, so that the public API can be read.
pub(super) fn has_no_glob_reexport(file: &SourceFile) -> Vec<Finding> {
    let is_glob = |code: &str| {
        let code = code.trim();
        code.starts_with("pub") && has_word(code, "use") && code.ends_with("::*;")
    };
    file.code_lines()
        .filter(|(_, code)| is_glob(code))
        .map(|(line, _)| Finding::new(line, "a glob re-export hides the API: list the names"))
        .collect()
}

/// Git remembers old code; a comment says why.
pub(super) fn has_no_commented_out_code(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let is_code = |line: &str| {
        line.trim().strip_prefix("// ").is_some_and(|comment| {
            CODE_BEGINNINGS
                .iter()
                .any(|beginning| comment.starts_with(beginning))
                && comment.ends_with(CODE_ENDS)
        })
    };
    file.lines()
        .filter(|(_, line)| is_code(line))
        .map(|(line, _)| Finding::new(line, "this looks like commented-out code: delete it"))
        .collect()
}

/// What is left to do has an issue that says so.
pub(super) fn has_no_todo_without_issue(file: &SourceFile) -> Vec<Finding> {
    if !file.is_rust() {
        return Vec::new();
    }
    let is_loose = |line: &str| {
        line.split_once("//").is_some_and(|(_, comment)| {
            ["TODO", "FIXME"].iter().any(|word| has_word(comment, word)) && !names_issue(comment)
        })
    };
    file.lines()
        .filter(|(_, line)| is_loose(line))
        .map(|(line, _)| Finding::new(line, "name the issue of what is left to do, as in `#12`"))
        .collect()
}

/// Whether `comment` has `#` and a number.
fn names_issue(comment: &str) -> bool {
    comment
        .split('#')
        .skip(1)
        .any(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Rule;

    fn count(rule: Rule, text: &str) -> usize {
        rule(&SourceFile::new("crates/x/src/shape.rs", text)).len()
    }

    #[test]
    fn loose_ends_are_found_in_code_only() {
        let text =
            "fn f() { todo!() }\nlet x = dbg!(y);\n#[ignore = \"slow\"]\nunimplemented!(\"x\")\n";
        assert_eq!(count(has_no_loose_end, text), 4);
        assert_eq!(
            count(
                has_no_loose_end,
                "// no todo!() here\nlet s = \"dbg!(x)\";\n"
            ),
            0
        );
    }

    #[test]
    fn glob_reexports_are_found() {
        assert_eq!(
            count(
                has_no_glob_reexport,
                "pub use shape::*;\npub(crate) use a::b::*;\n"
            ),
            2
        );
        assert_eq!(
            count(
                has_no_glob_reexport,
                "use cubecl::prelude::*;\npub use a::{B, C};\n"
            ),
            0
        );
    }

    #[test]
    fn commented_out_code_is_found_and_prose_is_not() {
        let code = "// let x = 1;\n    // for i in 0..4 {\n// if x {\n";
        assert_eq!(count(has_no_commented_out_code, code), 3);
        let prose =
            "// for every row, the maximum\n/// let x = 1;\n// if it is full, nothing is masked\n";
        assert_eq!(count(has_no_commented_out_code, prose), 0);
    }

    #[test]
    fn open_work_names_its_issue() {
        // Spelled so that tidy does not find them in this file.
        let text = |comment: &str| comment.replace("%%", "//");
        assert_eq!(
            count(
                has_no_todo_without_issue,
                &text("%% TODO: later\nf(); %% FIXME\n")
            ),
            2
        );
        assert_eq!(
            count(has_no_todo_without_issue, &text("%% TODO(#12): later\n")),
            0
        );
        assert_eq!(count(has_no_todo_without_issue, "let s = \"TODO\";\n"), 0);
    }
}
