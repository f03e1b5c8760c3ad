//! The kernels' arguments: mirrors `include/fa2/params.cuh` field by field.
//!
//! Device addresses are plain numbers here: this crate touches no device memory.

use crate::choose::{Choice, FwdProblem};

/// Strides of a `[batch, heads, rows, columns]` tensor with contiguous columns, in elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FwdStrides {
    /// From a batch entry to the next.
    pub batch: i64,
    /// From a head to the next.
    pub head: i64,
    /// From a row to the next.
    pub row: i64,
}

/// The argument of the general kernels.
///
/// Addresses and strides are of rows on 16 bytes; a stride that is never stepped along may be
/// anything.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FwdParams {
    /// Device address of Q, `[batch, heads_q, seq_q, head_dim]`.
    pub q: u64,
    /// Of K, `[batch, heads_kv, seq_k, head_dim]`.
    pub k: u64,
    /// Of V, like K.
    pub v: u64,
    /// Of O, like Q.
    pub o: u64,
    /// Of the natural logarithm of the sum of exponentials, f32, `[batch, heads_q, seq_q]`
    /// contiguous; 0: not wanted.
    pub lse: u64,
    /// Strides of Q.
    pub q_strides: FwdStrides,
    /// Strides of K.
    pub k_strides: FwdStrides,
    /// Strides of V.
    pub v_strides: FwdStrides,
    /// Strides of O.
    pub o_strides: FwdStrides,
    /// Rows of Q and O.
    pub seq_q: u32,
    /// Rows of K and V.
    pub seq_k: u32,
    /// Columns of all four: a multiple of 8, at most what the kernel is compiled for.
    pub head_dim: u32,
    /// Heads of Q.
    pub heads_q: u32,
    /// Query heads for each key/value head.
    pub group_size: u32,
    /// Batch entries times query heads.
    pub heads_total: u32,
    /// Heads of a section of the schedule, 1 to `heads_total`.
    pub section: u32,
    /// Blocks of query rows.
    pub m_blocks: u32,
    /// Query i sees keys up to `i + diagonal` where the mask is causal: `seq_k - seq_q` for the
    /// bottom right corner, 0 for the top left.
    pub diagonal: i32,
    /// The factor on the scores times log2(e).
    pub scale_log2: f32,
}

impl FwdParams {
    /// The sizes of `problem` as `choice` runs it; addresses and strides are the caller's to set.
    #[must_use]
    pub fn new(problem: &FwdProblem, choice: &Choice, diagonal: i32, scale: f32) -> Self {
        Self {
            seq_q: problem.seq_q,
            seq_k: problem.seq_k,
            head_dim: problem.head_dim,
            heads_q: problem.heads_q,
            group_size: problem.heads_q / problem.heads_kv.max(1),
            heads_total: problem.batch * problem.heads_q,
            section: choice.section,
            m_blocks: choice.m_blocks,
            diagonal,
            scale_log2: (f64::from(scale) * std::f64::consts::LOG2_E) as f32,
            ..Self::default()
        }
    }
}

/// The argument of the teaching kernels: contiguous f16 tensors `[heads_total, seq, 64]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TeachingParams {
    /// Device address of Q.
    pub q: u64,
    /// Of K.
    pub k: u64,
    /// Of V.
    pub v: u64,
    /// Of O.
    pub o: u64,
    /// A multiple of 64, above 0.
    pub seq: u32,
    /// Batch entries times heads; the grid is `seq / 64 * heads_total` along x.
    pub heads_total: u32,
}

// The C++ side asserts the same numbers.
const _: () = {
    use std::mem::{align_of, offset_of, size_of};
    assert!(size_of::<FwdStrides>() == 24);
    assert!(size_of::<FwdParams>() == 176 && align_of::<FwdParams>() == 8);
    assert!(offset_of!(FwdParams, lse) == 32);
    assert!(offset_of!(FwdParams, q_strides) == 40);
    assert!(offset_of!(FwdParams, k_strides) == 64);
    assert!(offset_of!(FwdParams, v_strides) == 88);
    assert!(offset_of!(FwdParams, o_strides) == 112);
    assert!(offset_of!(FwdParams, seq_q) == 136);
    assert!(offset_of!(FwdParams, seq_k) == 140);
    assert!(offset_of!(FwdParams, head_dim) == 144);
    assert!(offset_of!(FwdParams, heads_q) == 148);
    assert!(offset_of!(FwdParams, group_size) == 152);
    assert!(offset_of!(FwdParams, heads_total) == 156);
    assert!(offset_of!(FwdParams, section) == 160);
    assert!(offset_of!(FwdParams, m_blocks) == 164);
    assert!(offset_of!(FwdParams, diagonal) == 168);
    assert!(offset_of!(FwdParams, scale_log2) == 172);
    assert!(size_of::<TeachingParams>() == 40 && offset_of!(TeachingParams, seq) == 32);
};
