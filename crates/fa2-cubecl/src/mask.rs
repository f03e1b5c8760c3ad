//! Which keys a row sees: a comptime kind, applied to a block of scores in registers.
//!
//! Every kind hides the columns from some `end` on, per row; so one comparison an element applies
//! any of them, and the end of the keys (`seq_k`) joins for free. Blocks that no row's `end` cuts
//! are never masked (see `scheduler`).

use crate::mma::accumulator::Accumulator;
use crate::problem::Mask;
use cubecl::prelude::*;
use serde::{Deserialize, Serialize};

/// The kind of mask, without its run-time lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MaskKind {
    /// Every key is seen.
    None,
    /// Keys up to the row's own position plus a run-time diagonal are seen.
    Causal,
}

impl From<Mask> for MaskKind {
    fn from(mask: Mask) -> Self {
        match mask {
            Mask::None => Self::None,
            Mask::Causal(_) => Self::Causal,
        }
    }
}

/// Whether a block of scores holds hidden columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Some row's end may cut the block.
    Masked,
    /// All columns are seen by all rows.
    Full,
}

/// First column that `row` does not see.
#[cube]
pub(crate) fn end_column(row: i32, seq_k: i32, diagonal: i32, #[comptime] kind: MaskKind) -> i32 {
    if comptime!(kind == MaskKind::Causal) {
        min(seq_k, row + diagonal + 1)
    } else {
        seq_k
    }
}

/// Sets the scores of hidden columns to -inf.
///
/// `row` and `column` are the global position of this lane's first element in the block.
#[cube]
pub(crate) fn apply(
    acc_s: &mut Accumulator,
    row: i32,
    column: i32,
    seq_k: i32,
    diagonal: i32,
    #[comptime] kind: MaskKind,
) {
    let m_tiles = comptime!(acc_s.layout.m_tiles);
    let n_tiles = comptime!(acc_s.layout.n_tiles);
    #[unroll]
    for m in 0..m_tiles {
        #[unroll]
        for half in 0..2usize {
            let row_offset = comptime!(acc_s.layout.row_offset(m, half) as i32);
            // Relative to this lane's first column, so that each element compares an immediate.
            let end = end_column(row + row_offset, seq_k, diagonal, kind) - column;
            #[unroll]
            for n in 0..n_tiles {
                #[unroll]
                for c in 0..2usize {
                    let at = comptime!(acc_s.layout.index(c, half, m, n));
                    let offset = comptime!(acc_s.layout.column_offset(c, n) as i32);
                    let hidden = offset >= end;
                    acc_s.values[at] =
                        select(hidden, f32::new(f32::NEG_INFINITY), acc_s.values[at]);
                }
            }
        }
    }
}

/// First query that sees `key`; no query is as far as `i32::MAX`.
#[cube]
pub(crate) fn first_query(key: i32, seq_k: i32, diagonal: i32, #[comptime] kind: MaskKind) -> i32 {
    let first = if comptime!(kind == MaskKind::Causal) {
        key - diagonal
    } else {
        i32::new(0)
    };
    select(key < seq_k, first, i32::new(i32::MAX as i64))
}

/// [`apply()`] to transposed scores: rows are keys, columns are queries.
///
/// `key` and `query` are the global position of this lane's first element in the block.
#[cube]
pub(crate) fn apply_transposed(
    acc_s: &mut Accumulator,
    key: i32,
    query: i32,
    seq_k: i32,
    diagonal: i32,
    #[comptime] kind: MaskKind,
) {
    let m_tiles = comptime!(acc_s.layout.m_tiles);
    let n_tiles = comptime!(acc_s.layout.n_tiles);
    #[unroll]
    for m in 0..m_tiles {
        #[unroll]
        for half in 0..2usize {
            let row_offset = comptime!(acc_s.layout.row_offset(m, half) as i32);
            // Relative to this lane's first query, so that each element compares an immediate.
            let first = first_query(key + row_offset, seq_k, diagonal, kind) - query;
            #[unroll]
            for n in 0..n_tiles {
                #[unroll]
                for c in 0..2usize {
                    let at = comptime!(acc_s.layout.index(c, half, m, n));
                    let offset = comptime!(acc_s.layout.column_offset(c, n) as i32);
                    let hidden = offset < first;
                    acc_s.values[at] =
                        select(hidden, f32::new(f32::NEG_INFINITY), acc_s.values[at]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
