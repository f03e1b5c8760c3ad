//! The copy atoms: 16 bytes by cp.async, four 8x8 matrices by ldmatrix and stmatrix, a pair by a 4-byte
//! store, 16 bytes by a vector load or store, and a sum in global memory.

use crate::copy::barrier::SharedBarrier;
use cubecl::prelude::*;
use cubecl_ptx::async_copy::{copy_async, copy_async_zero_fill};
use cubecl_ptx::atomic::{add_global_f32, add_global_f32_x4};
use cubecl_ptx::matrix::{ldmatrix_x4, stmatrix_x4};
use cubecl_ptx::memory::{
    load_global_f32, load_global_f32_x4, load_global_x4, load_shared, load_shared_f32_x2,
    load_shared_f32_x4, load_shared_x4, store_global, store_global_f32, store_global_x4,
    store_shared, store_shared_f32_x4,
};
use cubecl_ptx::tma::{add_bytes_f32, commit_bulk, load_box, load_bytes, wait_bulk_read};

pub(crate) use cubecl_ptx::convert::Pair;
pub(crate) use cubecl_ptx::matrix::{Accumulator4, Registers4, Transpose};
pub(crate) use cubecl_ptx::proxy::fence_shared_async;
pub(crate) use cubecl_ptx::shuffle::{shuffle_xor_bits, sync_warp};
pub(crate) use cubecl_ptx::tma::Coordinates4;

/// Bytes of a 16-byte chunk: one cp.async, one row of an ldmatrix, one vector store.
pub(crate) const CHUNK_BYTES: u32 = 16;
/// Elements of a chunk.
pub(crate) const CHUNK: u32 = 8;

/// Global to shared, all 16 bytes.
#[cube]
pub(crate) fn g2s(
    target: u32,
    source: u64,
    #[comptime] offset: u32,
    #[comptime] source_offset: u32,
) {
    copy_async(target, source, offset, source_offset);
}

/// Global to shared where `inside`; zeros, without a read, elsewhere.
#[cube]
pub(crate) fn g2s_predicated(
    target: u32,
    source: u64,
    inside: bool,
    #[comptime] offset: u32,
    #[comptime] source_offset: u32,
) {
    let bytes = select(inside, u32::new(comptime!(CHUNK_BYTES as i64)), u32::new(0));
    copy_async_zero_fill(target, source, bytes, offset, source_offset);
}

/// Global to shared: the box of `map` at `from`, counted by `barrier`. One thread does it. Needs
/// SM90.
#[cube]
pub(crate) fn g2s_box(
    map: u64,
    from: &Coordinates4,
    target: u32,
    #[comptime] offset: u32,
    barrier: &SharedBarrier,
) {
    let barrier_offset = comptime!(barrier.offset);
    load_box(map, from, target, offset, barrier.address, barrier_offset);
}

/// Global to shared: `bytes` bytes, counted by `barrier`. One thread does it. Needs SM90.
#[cube]
pub(crate) fn g2s_bytes(source: u64, target: u32, #[comptime] bytes: u32, barrier: &SharedBarrier) {
    let barrier_offset = comptime!(barrier.offset);
    load_bytes(source, target, bytes, barrier.address, barrier_offset);
}

/// Shared to register.
#[cube]
pub(crate) fn s2r(
    address: u32,
    #[comptime] offset: u32,
    #[comptime] transpose: Transpose,
) -> Registers4 {
    ldmatrix_x4(address, offset, transpose)
}

/// Register to shared: two neighbours of a row.
#[cube]
pub(crate) fn r2s(address: u32, #[comptime] offset: u32, pair: u32) {
    store_shared(address, offset, pair);
}

/// Register to shared: a 16x16 block as an A fragment; addresses as for [`s2r()`]. Needs SM90.
#[cube]
pub(crate) fn r2s_block(address: u32, #[comptime] offset: u32, block: &Registers4) {
    stmatrix_x4(address, offset, block);
}

/// Register to shared: four f32.
#[cube]
pub(crate) fn r2s_f32_x4(address: u32, #[comptime] offset: u32, values: &Accumulator4) {
    store_shared_f32_x4(address, offset, values);
}

/// Starts the addition of `bytes` bytes of f32 in shared memory to others in global memory. One thread does it,
/// and says with [`end_s2g_adds()`] that it has started all. Needs SM90.
#[cube]
pub(crate) fn s2g_add(source: u32, target: u64, #[comptime] bytes: u32) {
    add_bytes_f32(source, target, bytes);
}

/// Ends a group of additions, for [`await_s2g_adds()`].
#[cube]
pub(crate) fn end_s2g_adds() {
    commit_bulk();
}

/// Waits until this thread's additions have left shared memory.
#[cube]
pub(crate) fn await_s2g_adds() {
    wait_bulk_read(0u32);
}

/// Shared to register: 4 bytes.
#[cube]
pub(crate) fn s2r_word(address: u32, #[comptime] offset: u32) -> u32 {
    load_shared(address, offset)
}

/// Shared to register: four f32.
#[cube]
pub(crate) fn s2r_f32(address: u32, #[comptime] offset: u32) -> Accumulator4 {
    load_shared_f32_x4(address, offset)
}

/// Shared to register: two f32.
#[cube]
pub(crate) fn s2r_f32_pair(address: u32, #[comptime] offset: u32) -> Pair {
    load_shared_f32_x2(address, offset)
}

/// Global to register: a chunk.
#[cube]
pub(crate) fn g2r(source: u64, #[comptime] offset: u32) -> Registers4 {
    load_global_x4(source, offset)
}

/// Global to register: one f32.
#[cube]
pub(crate) fn g2r_f32(source: u64, #[comptime] offset: u32) -> f32 {
    load_global_f32(source, offset)
}

/// Global to register: four f32.
#[cube]
pub(crate) fn g2r_f32_x4(source: u64, #[comptime] offset: u32) -> Accumulator4 {
    load_global_f32_x4(source, offset)
}

/// Register to global: a chunk.
#[cube]
pub(crate) fn r2g_chunk(target: u64, #[comptime] offset: u32, chunk: Registers4) {
    store_global_x4(target, offset, chunk);
}

/// Register to global: two neighbours of a row.
#[cube]
pub(crate) fn r2g_pair(target: u64, #[comptime] offset: u32, pair: u32) {
    store_global(target, offset, pair);
}

/// Adds one f32 to another in global memory.
#[cube]
pub(crate) fn r2g_add(target: u64, #[comptime] offset: u32, value: f32) {
    add_global_f32(target, offset, value);
}

/// Adds four f32 to four others in global memory. Needs SM90.
#[cube]
pub(crate) fn r2g_add_x4(target: u64, #[comptime] offset: u32, values: &Accumulator4) {
    add_global_f32_x4(target, offset, values);
}

/// Register to global: one f32.
#[cube]
pub(crate) fn r2g(target: u64, value: f32) {
    store_global_f32(target, value);
}

/// Shared to global, 16 bytes through registers.
#[cube]
pub(crate) fn s2g(
    source: u32,
    target: u64,
    #[comptime] offset: u32,
    #[comptime] target_offset: u32,
) {
    let chunk = load_shared_x4(source, offset);
    store_global_x4(target, target_offset, chunk);
}
