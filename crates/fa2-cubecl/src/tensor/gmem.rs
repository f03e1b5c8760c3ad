//! A matrix of rows in global memory: the part of Q, K, V or O that one cube (CTA) works on.
//!
//! Offsets are 64-bit throughout, so tensors may hold more than 2^31 elements.

use cubecl::prelude::*;

/// Byte strides of a [batch, heads, rows, columns] tensor whose columns are contiguous.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct ByteStrides {
    /// From a batch entry to the next.
    pub batch: u64,
    /// From a head to the next.
    pub head: u64,
    /// From a row to the next.
    pub row: u64,
    /// From the rows of one copy pass to those of the next. Computed on the host, where it costs
    /// no register.
    pub pass: u64,
    /// From a block of keys to the next.
    pub block: u64,
}

/// Address of row `row` of one head.
#[cube]
pub(crate) fn row_address(
    base: u64,
    strides: &ByteStrides,
    batch: u32,
    head: u32,
    row: u32,
) -> u64 {
    base + batch as u64 * strides.batch + head as u64 * strides.head + row as u64 * strides.row
}
