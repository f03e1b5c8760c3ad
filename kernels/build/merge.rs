//! One PTX module of several: the header of the first, each declaration once, all entries.

use anyhow::{Context, Result};

/// Where the functions of a module begin.
const ENTRY: &str = ".visible .entry";

/// The module with the kernels of all `modules`, which nvcc compiled with equal options.
pub(crate) fn merge(modules: &[String]) -> Result<String> {
    let mut declarations = Vec::new();
    let mut entries = String::new();
    for module in modules {
        let (head, body) = module
            .split_once(ENTRY)
            .context("a unit's PTX has no kernel")?;
        // The one-byte tags of the libraries' namespaces, which no kernel reads.
        let used = |line: &&str| !(line.starts_with(".global .align 1") && line.ends_with("[1];"));
        for line in head.lines().filter(used) {
            let is_comment = line.is_empty() || line.trim_start().starts_with("//");
            if !is_comment && !declarations.contains(&line) {
                declarations.push(line);
            }
        }
        entries.push_str(ENTRY);
        entries.push_str(body);
        entries.push('\n');
    }
    Ok(format!("{}\n\n{entries}", declarations.join("\n")))
}
