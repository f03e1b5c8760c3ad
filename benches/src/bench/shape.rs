//! The shapes that are measured.

use crate::arguments::DtypeArg;
use fa2_cubecl::{Alignment, Mask, Problem};

/// Rows of all sequences of a batch together, in the FlashAttention-2 paper's grid.
const TOKENS: usize = 16 * 1024;
/// Heads times head size in that grid.
const HIDDEN: usize = 2048;

/// Elements of one tensor of the grid, whatever the shape.
pub const ELEMENTS: usize = TOKENS * HIDDEN;

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
