//! What the tests of the machine code share.

use fa2_cubecl::{Dtype, Mask, Problem};

/// The long sequences that the heuristics choose each kernel for.
pub(crate) fn problem(dtype: Dtype, columns: u32, mask: Mask) -> Problem {
    Problem {
        batch: 4,
        heads_q: 16,
        heads_kv: 16,
        seq_q: 4096,
        seq_k: 4096,
        head_dim: columns as usize,
        dtype,
        mask,
        scale: 0.125,
    }
}
