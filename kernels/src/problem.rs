//! The facts of a problem, and the rules that it obeys on every device.

use crate::error::ChooseError;

/// Columns of a 16-byte chunk.
const CHUNK: u32 = 8;
/// Half of `i32`, so that a row plus the causal offset, and a block's end, can't overflow.
const MAX_ROWS: u32 = i32::MAX as u32 / 2;

/// Element type of Q, K, V and O. Sums are in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskKind {
    /// All of them.
    None,
    /// Those up to its own position plus a run-time diagonal.
    Causal,
}

/// The facts of a problem that the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FwdProblem {
    /// Batch entries.
    pub batch: u32,
    /// Heads of Q and O.
    pub heads_q: u32,
    /// Heads of K and V; a divisor of `heads_q`.
    pub heads_kv: u32,
    /// Rows of Q and O.
    pub seq_q: u32,
    /// Rows of K and V.
    pub seq_k: u32,
    /// Columns of all four.
    pub head_dim: u32,
    /// Element type.
    pub dtype: Dtype,
    /// Which keys a query sees.
    pub mask: MaskKind,
}

impl FwdProblem {
    /// Checks the rules that hold on every device.
    pub(crate) fn validate(&self) -> Result<(), ChooseError> {
        let &Self {
            batch,
            heads_q,
            heads_kv,
            seq_q,
            seq_k,
            head_dim,
            ..
        } = self;
        let sizes = [
            ("batch", batch),
            ("heads_q", heads_q),
            ("heads_kv", heads_kv),
            ("seq_q", seq_q),
        ];
        if let Some(&(name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(ChooseError::Empty { name });
        }
        if !heads_q.is_multiple_of(heads_kv) {
            return Err(ChooseError::Heads { heads_q, heads_kv });
        }
        if head_dim == 0 || !head_dim.is_multiple_of(CHUNK) {
            return Err(ChooseError::HeadDim(head_dim));
        }
        for (name, rows) in [("seq_q", seq_q), ("seq_k", seq_k)] {
            if rows > MAX_ROWS {
                return Err(ChooseError::TooLarge {
                    name,
                    value: u64::from(rows),
                    limit: u64::from(MAX_ROWS),
                });
            }
        }
        Ok(())
    }
}
