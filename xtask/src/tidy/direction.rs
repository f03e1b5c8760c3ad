//! Data flows one way through fa2-cubecl: a module uses those before it, never those after it.

use super::Finding;
use super::code::is_identifier;
use super::tree::SourceFile;

/// The source folder that this is about.
const SOURCE: &str = "crates/fa2-cubecl/src/";

/// The modules in the order of the data; those of one layer may use each other.
///
/// The host side (problem, config, heuristics, error) is below all of them and not listed.
const LAYERS: [&[&str]; 6] = [
    &["tensor"],
    &["copy", "mma"],
    &["mask", "pipeline", "scheduler", "score", "softmax"],
    &["epilogue"],
    &["kernel"],
    &["launch", "offline"],
];

/// No `crate::` path points at a later layer.
pub(super) fn uses_point_down(file: &SourceFile) -> Vec<Finding> {
    let Some(path) = file.path.strip_prefix(SOURCE) else {
        return Vec::new();
    };
    let own = path.split(['/', '.']).next().unwrap_or_default();
    let Some(own_layer) = layer(own) else {
        return Vec::new();
    };
    crate_modules(&file.code)
        .filter(|(_, used)| layer(used).is_some_and(|used_layer| used_layer > own_layer))
        .map(|(line, used)| {
            Finding::new(
                line,
                format!(
                    "`{own}` uses `{used}`, which comes after it (tidy/direction.rs has the order): \
                     move what both need down, or pass it in"
                ),
            )
        })
        .collect()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// The modules of this crate that `code` names after `crate::`, with their lines.
fn crate_modules(code: &str) -> impl Iterator<Item = (usize, &str)> {
    const ROOT: &str = "crate::";
    code.match_indices(ROOT).flat_map(move |(at, _)| {
        let start = at + ROOT.len();
        let rest = &code[start..];
        let names = match rest.strip_prefix('{') {
            Some(group) => group_heads(group, start + 1),
            None => vec![(start, identifier(rest))],
        };
        names
            .into_iter()
            .map(|(at, name)| (1 + code[..at].matches('\n').count(), name))
    })
}

/// The first identifier of each item of a `use` group, with its position; `offset` is the group's.
fn group_heads(group: &str, offset: usize) -> Vec<(usize, &str)> {
    let mut heads = Vec::new();
    let mut depth = 1;
    let mut expects_item = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => expects_item = true,
            c if expects_item && is_identifier(c) => {
                heads.push((offset + at, identifier(&group[at..])));
                expects_item = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

/// The identifier at the start of `text`.
fn identifier(text: &str) -> &str {
    text.split(|c| !is_identifier(c)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of_findings(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile::new(path, text);
        uses_point_down(&file)
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn upward_use_is_found() {
        let text = "use crate::kernel::Forward;\nuse crate::tensor::View;\n";
        assert_eq!(
            lines_of_findings("crates/fa2-cubecl/src/mask.rs", text),
            [1]
        );
    }

    #[test]
    fn groups_and_paths_in_code_are_seen() {
        let text = "use crate::{\n    tensor::{View, launch},\n    launch::run,\n};\nfn f() { crate::epilogue::store() }\n";
        assert_eq!(
            lines_of_findings("crates/fa2-cubecl/src/copy/g2s.rs", text),
            [3, 5]
        );
    }

    #[test]
    fn downward_and_level_uses_pass() {
        let text = "use crate::{config::FwdConfig, copy::g2s, softmax::OnlineSoftmax};\n";
        for module in [
            "mask",
            "epilogue",
            "kernel/forward_sm80",
            "launch",
            "lib",
            "config",
        ] {
            let path = format!("crates/fa2-cubecl/src/{module}.rs");
            assert!(lines_of_findings(&path, text).is_empty(), "{module}");
        }
    }

    #[test]
    fn comments_and_other_crates_are_left_alone() {
        assert!(
            lines_of_findings("crates/fa2-cubecl/src/mask.rs", "// crate::launch\n").is_empty()
        );
        assert!(lines_of_findings("crates/x/src/mask.rs", "use crate::launch;\n").is_empty());
    }
}
