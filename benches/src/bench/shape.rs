//! The shapes that are measured.

use crate::arguments::DtypeArg;
use fa2_cubecl::{Alignment, Dtype, Mask, Problem};
use serde::Serialize;
use std::fmt;

/// Rows of all sequences of a batch together, in the FlashAttention-2 paper's grid.
const TOKENS: usize = 16 * 1024;
/// Heads times head size in that grid.
const HIDDEN: usize = 2048;

/// Elements of one tensor of the grid, whatever the shape.
pub const ELEMENTS: usize = TOKENS * HIDDEN;

/// A problem as records and the conductor of a paced run name it; displayed as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// f16 or bf16.
    pub dtype: &'static str,
    /// Batch entries.
    pub b: usize,
    /// Query heads.
    pub h: usize,
    /// Key/value heads.
    pub hkv: usize,
    /// Query rows.
    pub sq: usize,
    /// Key rows.
    pub sk: usize,
    /// Head size.
    pub d: usize,
    /// Causal mask.
    pub causal: bool,
}

impl From<&Problem> for Shape {
    fn from(problem: &Problem) -> Self {
        Self {
            dtype: match problem.dtype {
                Dtype::F16 => "f16",
                Dtype::Bf16 => "bf16",
            },
            b: problem.batch,
            h: problem.heads_q,
            hkv: problem.heads_kv,
            sq: problem.seq_q,
            sk: problem.seq_k,
            d: problem.head_dim,
            causal: problem.mask != Mask::None,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&json)
    }
}

/// The FlashAttention-2 paper's grid: `B S = 16k`, `H D = 2048`.
#[must_use]
pub fn paper(
    dtypes: &[DtypeArg],
    dims: &[usize],
    lengths: &[usize],
    masks: &[bool],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for &dtype in dtypes {
        for &head_dim in dims {
            for &causal in masks {
                for &seq in lengths {
                    problems.push(problem(dtype, head_dim, seq, causal));
                }
            }
        }
    }
    problems
}

fn problem(dtype: DtypeArg, head_dim: usize, seq: usize, causal: bool) -> Problem {
    let heads = HIDDEN / head_dim;
    Problem {
        batch: TOKENS / seq,
        heads_q: heads,
        heads_kv: heads,
        seq_q: seq,
        seq_k: seq,
        head_dim,
        dtype: dtype.into(),
        mask: if causal {
            Mask::Causal(Alignment::BottomRight)
        } else {
            Mask::None
        },
        scale: (head_dim as f32).sqrt().recip(),
    }
}
