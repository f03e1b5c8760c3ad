//! A matrix of rows in global memory: the part of Q, K, V or O that one cube (CTA) works on.
//!
//! Offsets are 64-bit throughout, so tensors may hold more than 2^31 elements.

use cubecl::prelude::*;
use cubecl_ptx::atomic::fetch_add_global;
use cubecl_ptx::memory::store_global;
use cubecl_ptx::ordering::{load_global_acquire, store_global_release};

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

/// Makes the count at `address + offset` zero.
#[cube]
pub(crate) fn clear_count(address: u64, #[comptime] offset: u32) {
    store_global(address, offset, u32::new(0));
}

/// Adds 1 to the count at `address + offset`, which all cubes share: what it was.
#[cube]
pub(crate) fn count_up(address: u64, #[comptime] offset: u32) -> u32 {
    fetch_add_global(address, offset, 1u32)
}

/// Waits until another cube has set the count at `address` to `value`: what it had done before has happened.
#[cube]
pub(crate) fn await_count(address: u64, value: u32) {
    let mut count = load_global_acquire(address, 0u32);
    while count != value {
        count = load_global_acquire(address, 0u32);
    }
}

/// Sets the count at `address` for a cube that waits for it.
#[cube]
pub(crate) fn set_count(address: u64, value: u32) {
    store_global_release(address, 0u32, value);
}
