//! Names with a home: who may name a crate, an instruction or a built-in, and who may not.

use super::Finding;
use super::code::has_word;
use super::tree::SourceFile;

/// Words that only some files of a part of the tree may use.
struct Owned {
    words: &'static [&'static str],
    /// Folders in which the rule holds.
    within: &'static [&'static str],
    /// Folders (with a final `/`) and ends of file paths that may use the words.
    homes: &'static [&'static str],
    /// The rule in words.
    rule: &'static str,
}

/// Places of fa2-cubecl that may name cubecl-ptx; one added here needs its reason beside it.
const CALLERS_OF_INSTRUCTIONS: [&str; 5] = [
    // An instruction and its meaning as a layout.
    "/atom.rs",
    // A barrier that counts copies.
    "/copy/barrier.rs",
    // Addresses in shared and global memory.
    "/tensor/",
    // Commit and wait of the K/V ring.
    "/pipeline.rs",
    // Registers that warpgroups leave to each other.
    "/pipeline/registers.rs",
];

/// The table to edit when a rule of ARCHITECTURE.md changes.
const OWNED: [Owned; 10] = [
    Owned {
        words: &["burn", "burn_cubecl", "burn_fa2", "burn_tensor"],
        within: &["crates/fa2-cubecl/"],
        homes: &[],
        rule: "fa2-cubecl knows CubeCL, never Burn",
    },
    Owned {
        words: &["pliron", "pliron_llvm", "ToLLVMDialect"],
        within: &["crates/", "examples/", "benches/"],
        homes: &["crates/cubecl-ptx/"],
        rule: "only cubecl-ptx knows pliron and CubeCL's lowering",
    },
    Owned {
        words: &["cubecl_llvm"],
        within: &["crates/", "examples/", "benches/"],
        homes: &["crates/cubecl-ptx/", "crates/fa2-cubecl/src/offline.rs"],
        rule: "only cubecl-ptx and fa2-cubecl's offline.rs name the compile backend",
    },
    Owned {
        words: &["cubecl_ptx"],
        within: &["crates/fa2-cubecl/src/", "crates/burn-fa2/"],
        homes: &CALLERS_OF_INSTRUCTIONS,
        rule: "instructions are called by the atoms, copy/barrier.rs, tensor/, pipeline.rs and pipeline/registers.rs",
    },
    Owned {
        words: &[
            "CUBE_POS",
            "CUBE_POS_X",
            "CUBE_POS_Y",
            "CUBE_POS_Z",
            "cube_position",
        ],
        within: &["crates/fa2-cubecl/src/"],
        homes: &["/scheduler.rs", "/tensor/address.rs"],
        rule: "only scheduler.rs knows which work a cube does",
    },
    Owned {
        words: &["Client"],
        within: &["crates/fa2-cubecl/src/"],
        homes: &["/launch.rs", "fa2-cubecl/src/launch/"],
        rule: "only launch.rs and launch/ hold a client",
    },
    Owned {
        words: &["sync_cube"],
        within: &["crates/fa2-cubecl/src/"],
        homes: &["/pipeline.rs", "/epilogue.rs"],
        rule: "only a pipeline.rs or an epilogue.rs has barriers",
    },
    Owned {
        words: &["SharedBarrier"],
        within: &["crates/fa2-cubecl/src/"],
        homes: &["/copy/", "/pipeline.rs", "/pipeline/"],
        rule: "only pipelines wait for copies",
    },
    Owned {
        words: &["await_s2g_adds"],
        within: &["crates/fa2-cubecl/src/"],
        homes: &["/copy/", "/kernel/backward/sums.rs"],
        rule: "only the sums of dQ wait for the copy engine's additions",
    },
    Owned {
        words: &["unsafe"],
        within: &["crates/"],
        homes: &[
            "crates/cubecl-ptx/",
            "/launch.rs",
            "fa2-cubecl/src/launch/",
            "/ffi.rs",
        ],
        rule: "`unsafe` lives in launch, ffi and cubecl-ptx only",
    },
];

/// No file uses a name outside its home.
pub(super) fn names_are_used_at_home(file: &SourceFile) -> Vec<Finding> {
    OWNED
        .iter()
        .filter(|owned| owned.binds(&file.path))
        .flat_map(|owned| owned.find(file))
        .collect()
}

impl Owned {
    /// Whether the file at `path` may not use the words.
    fn binds(&self, path: &str) -> bool {
        let is_home = |home: &&str| {
            if home.ends_with('/') {
                path.contains(home)
            } else {
                path.ends_with(home)
            }
        };
        self.within.iter().any(|folder| path.starts_with(folder)) && !self.homes.iter().any(is_home)
    }

    fn find(&self, file: &SourceFile) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (line, code) in file.code_lines() {
            if let Some(word) = self.words.iter().find(|word| has_word(code, word)) {
                findings.push(Finding::new(
                    line,
                    format!("`{word}` does not belong here: {}", self.rule),
                ));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        names_are_used_at_home(&SourceFile::new(path, text)).len()
    }

    #[test]
    fn burn_in_fa2_cubecl_is_found() {
        assert_eq!(
            count(
                "crates/fa2-cubecl/src/config.rs",
                "use burn::tensor::Tensor;"
            ),
            1
        );
        assert_eq!(
            count(
                "crates/fa2-cubecl/tests/config.rs",
                "use burn::tensor::Tensor;"
            ),
            1
        );
        assert_eq!(
            count(
                "crates/burn-fa2/src/forward.rs",
                "use burn::tensor::Tensor;"
            ),
            0
        );
        assert_eq!(
            count("crates/fa2-cubecl/src/config.rs", "// as burn does"),
            0
        );
    }

    #[test]
    fn lowering_outside_cubecl_ptx_is_found() {
        let text = "use cubecl_llvm::shared::to_llvm::ToLLVMDialect;";
        assert_eq!(count("crates/cubecl-ptx/src/op.rs", text), 0);
        assert_eq!(
            count(
                "crates/fa2-cubecl/src/offline.rs",
                "use cubecl_llvm::compile;"
            ),
            0
        );
        assert_eq!(count("crates/fa2-cubecl/src/offline.rs", text), 1);
        assert_eq!(count("crates/fa2-cubecl/src/launch.rs", text), 2);
        assert_eq!(count("benches/src/main.rs", "use pliron::op::Op;"), 1);
    }

    #[test]
    fn instructions_are_called_by_atoms_only() {
        let text = "use cubecl_ptx::matrix;";
        for home in [
            "copy/atom.rs",
            "mma/atom.rs",
            "softmax/atom.rs",
            "tensor/view.rs",
        ] {
            assert_eq!(
                count(&format!("crates/fa2-cubecl/src/{home}"), text),
                0,
                "{home}"
            );
        }
        assert_eq!(
            count("crates/fa2-cubecl/src/kernel/forward_sm80.rs", text),
            1
        );
        assert_eq!(count("crates/fa2-cubecl/src/copy/diatom.rs", text), 1);
    }

    #[test]
    fn builtins_stay_with_their_owner() {
        assert_eq!(
            count("crates/fa2-cubecl/src/mask.rs", "let x = CUBE_POS_X;"),
            1
        );
        assert_eq!(
            count("crates/fa2-cubecl/src/scheduler.rs", "let x = CUBE_POS_X;"),
            0
        );
        assert_eq!(
            count("crates/fa2-cubecl/src/kernel/forward.rs", "sync_cube();"),
            1
        );
        assert_eq!(
            count("crates/fa2-cubecl/src/heuristics.rs", "c: &Client<R>"),
            1
        );
        assert_eq!(
            count("crates/cute-layout/src/swizzle.rs", "unsafe { x }"),
            1
        );
        assert_eq!(count("crates/fa2-cubecl/src/launch.rs", "unsafe { x }"), 0);
    }
}
