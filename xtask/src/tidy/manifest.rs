//! Who may depend on whom: the arrows between the crates, as their Cargo.toml files state them.

use super::Finding;
use super::tree::SourceFile;

/// Dependencies that the crate of a manifest may not have.
struct Ban {
    /// The manifest, or `""` for every one that is not in `except`.
    manifest: &'static str,
    except: &'static [&'static str],
    /// Beginnings of the banned names; `""` bans all.
    names: &'static [&'static str],
    /// Development dependencies are banned as well.
    dev_too: bool,
    rule: &'static str,
}

const BANS: [Ban; 5] = [
    Ban {
        manifest: "crates/cute-layout/Cargo.toml",
        except: &[],
        names: &[""],
        dev_too: false,
        rule: "cute-layout depends on nothing",
    },
    Ban {
        manifest: "crates/fa2-cubecl/Cargo.toml",
        except: &[],
        names: &["burn"],
        dev_too: true,
        rule: "fa2-cubecl knows CubeCL, never Burn",
    },
    Ban {
        manifest: "",
        except: &["crates/cubecl-ptx/Cargo.toml"],
        names: &["pliron"],
        dev_too: true,
        rule: "only cubecl-ptx knows pliron",
    },
    Ban {
        manifest: "",
        except: &[
            "crates/cubecl-ptx/Cargo.toml",
            "crates/fa2-cubecl/Cargo.toml",
        ],
        names: &["cubecl-llvm"],
        dev_too: true,
        rule: "only cubecl-ptx and fa2-cubecl name the compile backend",
    },
    Ban {
        manifest: "xtask/Cargo.toml",
        except: &[],
        names: &["burn", "cubecl", "fa2-c", "fa2-machine"],
        dev_too: true,
        rule: "xtask builds in seconds, for it prepares what the others need to build",
    },
];

/// One dependency that a manifest states.
#[derive(Debug, PartialEq, Eq)]
struct Dependency<'a> {
    line: usize,
    name: &'a str,
    is_dev: bool,
}

/// No crate depends on what its place in the architecture excludes.
pub(super) fn dependencies_are_allowed(file: &SourceFile) -> Vec<Finding> {
    if !file.path.ends_with("/Cargo.toml") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for dependency in dependencies(&file.text) {
        for ban in BANS.iter().filter(|ban| ban.hits(&file.path, &dependency)) {
            let message = format!("must not depend on `{}`: {}", dependency.name, ban.rule);
            findings.push(Finding::new(dependency.line, message));
        }
    }
    findings
}

impl Ban {
    fn hits(&self, path: &str, dependency: &Dependency<'_>) -> bool {
        let is_bound = if self.manifest.is_empty() {
            !self.except.contains(&path)
        } else {
            self.manifest == path
        };
        is_bound
            && (self.dev_too || !dependency.is_dev)
            && self
                .names
                .iter()
                .any(|name| dependency.name.starts_with(name))
    }
}

/// The dependencies of a manifest: of plain, build, development and target sections alike.
fn dependencies(text: &str) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    let mut section = "";
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        if let Some(header) = text
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            section = header;
            // `[dependencies.name]`: the header itself states the dependency.
            if let Some((kind, name)) = header.rsplit_once('.')
                && kind.ends_with("dependencies")
            {
                found.push(Dependency {
                    line,
                    name,
                    is_dev: kind.ends_with("dev-dependencies"),
                });
            }
        } else if section.ends_with("dependencies") && !text.starts_with('#') {
            let name = text
                .split(['=', '.', ' '])
                .next()
                .unwrap_or_default()
                .trim_matches('"');
            if !name.is_empty() {
                found.push(Dependency {
                    line,
                    name,
                    is_dev: section.ends_with("dev-dependencies"),
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        dependencies_are_allowed(&SourceFile::new(path, text)).len()
    }

    #[test]
    fn every_way_to_state_a_dependency_is_read() {
        let text = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb.workspace = true\n# c = \"1\"\n\
                    [dev-dependencies]\nd = { version = \"1\" }\n[dependencies.e]\nversion = \"1\"\n\
                    [target.'cfg(unix)'.build-dependencies]\nf = \"1\"\n[lints]\nworkspace = true\n";
        let names: Vec<(&str, bool)> = dependencies(text)
            .iter()
            .map(|found| (found.name, found.is_dev))
            .collect();
        let expected = [
            ("a", false),
            ("b", false),
            ("d", true),
            ("e", false),
            ("f", false),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn cute_layout_has_development_dependencies_only() {
        let path = "crates/cute-layout/Cargo.toml";
        assert_eq!(count(path, "[dependencies]\nserde = \"1\"\n"), 1);
        assert_eq!(
            count(
                path,
                "[dependencies]\n\n[dev-dependencies]\nproptest = \"1\"\n"
            ),
            0
        );
    }

    #[test]
    fn forbidden_arrows_are_found() {
        let burn = "[dev-dependencies]\nburn-cubecl = \"1\"\n";
        assert_eq!(count("crates/fa2-cubecl/Cargo.toml", burn), 1);
        assert_eq!(count("crates/burn-fa2/Cargo.toml", burn), 0);
        let backend = "[dependencies]\npliron.workspace = true\ncubecl-llvm.workspace = true\n";
        assert_eq!(count("crates/burn-fa2/Cargo.toml", backend), 2);
        assert_eq!(count("crates/fa2-cubecl/Cargo.toml", backend), 1);
        assert_eq!(count("crates/cubecl-ptx/Cargo.toml", backend), 0);
        let kernels = "[dependencies]\ncubecl = \"1\"\nfa2-cubecl = \"1\"\nfa2-layouts = \"1\"\n";
        assert_eq!(count("xtask/Cargo.toml", kernels), 2);
    }
}
