//! The sums of dQ in global memory, which the key blocks add to and `convert` reads.
//!
//! They lie as the registers do, [query block, warp, register, lane], with as many neighbouring registers
//! of a lane side by side as one addition takes. So the sums of one addition of a warp are contiguous, and those of
//! all its additions too: the copy engine adds them at once, where registers pass them to it through shared memory
//! ([`Staged`]).
//!
//! Where key blocks add in order, the sums of a block are followed by a count: of the key blocks that have added
//! theirs.

use crate::config::backward::{BwdConfig, QuerySums};
use crate::config::{MMA_N, WARP};
use crate::copy::atom::{
    Accumulator4, await_s2g_adds, end_s2g_adds, fence_shared_async, g2r_f32, g2r_f32_x4, r2g_add,
    r2g_add_x4, r2s_f32_x4, s2g_add, sync_warp,
};
use crate::mma::accumulator::{Accumulator, AccumulatorLayout};
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// Bytes between two neighbouring registers' sums where a lane adds them one by one, and from four to the
/// next four where it adds four at once: all lanes' sums.
const fn step(config: BwdConfig) -> u32 {
    4 * config.sums_at_once() * WARP
}

/// A warp's sums of a block.
const fn warp_words(config: BwdConfig) -> u32 {
    config.query_layout().len() as u32 * WARP
}

/// Bytes for a block's count: a whole line of the cache, so that all sums stay aligned to one.
pub(crate) const fn count_bytes(config: BwdConfig) -> u32 {
    match config.query_sums() {
        QuerySums::Ordered => 128,
        QuerySums::Atomic | QuerySums::Owned => 0,
    }
}

/// Bytes from a block's sums to those of the next.
pub(crate) const fn block_bytes(config: BwdConfig) -> u32 {
    config.query_bytes() + count_bytes(config)
}

/// Bytes from a lane's first sum to those of addition `group`. What a warp's columns don't have is of the
/// warp beside it: one that holds more columns than its own in this order adds to the sums of both.
const fn group_offset(config: BwdConfig, group: u32) -> u32 {
    let layout = config.query_layout();
    let own = layout.len() as u32 / config.sums_at_once();
    group / own * layout.warps * 4 * warp_words(config) + group % own * step(config)
}

/// Registers of the columns before `column`.
const fn registers_before(layout: AccumulatorLayout, column: u32) -> u32 {
    column / MMA_N * (layout.len() / layout.n_tiles) as u32
}

/// Byte offset of this lane's first sum of query block `block`, among those of all heads.
#[cube]
pub(crate) fn offset(block: u64, #[comptime] config: BwdConfig) -> u64 {
    offset_of_warp(block, unit_position() / WARP, config)
}

/// [`offset()`] for the sums of the warp `warp`.
#[cube]
pub(crate) fn offset_of_warp(block: u64, warp: u32, #[comptime] config: BwdConfig) -> u64 {
    let lane_words = unit_position() % WARP * comptime!(config.sums_at_once());
    block * comptime!(block_bytes(config) as u64)
        + ((warp * comptime!(warp_words(config)) + lane_words) * 4) as u64
}

/// Byte offset of the count of query block `block`.
#[cube]
pub(crate) fn count_offset(block: u64, #[comptime] config: BwdConfig) -> u64 {
    block * comptime!(block_bytes(config) as u64) + comptime!(config.query_bytes() as u64)
}

/// Bytes from a lane's first four registers of dQ to its `group`-th four, in shared memory.
const fn staged_offset(config: BwdConfig, group: u32) -> u32 {
    let groups = config.dq_part_bytes() / step(config);
    group / groups * config.dq_part_stride() + group % groups * step(config)
}

/// A warp's dQ on its way to the sums: in shared memory, in their order, by parts that lie apart.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Staged {
    /// Shared address of the warp's first part.
    warp: u32,
    #[cube(comptime)]
    config: BwdConfig,
}

#[cube]
impl Staged {
    /// That of this warp for the `t`-th block; `shared` is where the cube's memory begins.
    pub fn new(shared: u32, t: u32, #[comptime] config: BwdConfig) -> Staged {
        let warp = unit_position() / WARP * comptime!(config.dq_warp_bytes());
        let tile = (t + 1) % 2 * comptime!(config.dq_tile_bytes());
        Staged {
            warp: shared + comptime!(config.dq_offset()) + tile + warp,
            config,
        }
    }

    /// Has `acc` added to the sums, while this warp goes on. `target` is the address of the lane's first sum; that of
    /// the first lane is the warp's.
    pub fn add(&self, acc: &Accumulator, target: u64) {
        let config = comptime!(self.config);
        let lane = self.warp + unit_position() % WARP * 16;
        #[unroll]
        for group in 0..comptime!(acc.layout.len() as u32 / 4) {
            let at = comptime!(staged_offset(config, group));
            r2s_f32_x4(lane, at, &four(acc, comptime!(group as usize)));
        }
        fence_shared_async();
        // Orders: all lanes' stores < their reads by the copy engine.
        sync_warp();
        if unit_position().is_multiple_of(WARP) {
            let bytes = comptime!(config.dq_part_bytes());
            #[unroll]
            for part in 0..comptime!(4 * warp_words(config) / bytes) {
                let source = self.warp + comptime!(part * config.dq_part_stride());
                s2g_add(source, target + comptime!((part * bytes) as u64), bytes);
            }
            end_s2g_adds();
        }
    }
}

/// Waits until all that this warp has had added has left shared memory.
#[cube]
pub(crate) fn await_staged() {
    if unit_position().is_multiple_of(WARP) {
        await_s2g_adds();
    }
    // Orders: the copy engine's reads < the stores of all lanes.
    sync_warp();
}

/// The `group`-th four of the registers of `acc`.
#[cube]
fn four(acc: &Accumulator, #[comptime] group: usize) -> Accumulator4 {
    Accumulator4 {
        x: acc.values[comptime!(4 * group)],
        y: acc.values[comptime!(4 * group + 1)],
        z: acc.values[comptime!(4 * group + 2)],
        w: acc.values[comptime!(4 * group + 3)],
    }
}

/// Adds `acc` to the lane's sums from address `target` on.
#[cube]
pub(crate) fn add(acc: &Accumulator, target: u64, #[comptime] config: BwdConfig) {
    add_from(acc, target, 0u32, config);
}

/// [`add()`] where `acc` holds the columns from `column` on, and no others.
#[cube]
pub(crate) fn add_from(
    acc: &Accumulator,
    target: u64,
    #[comptime] column: u32,
    #[comptime] config: BwdConfig,
) {
    let before = comptime!(registers_before(acc.layout, column) / config.sums_at_once());
    #[unroll]
    for group in 0..comptime!(acc.layout.len() / config.sums_at_once() as usize) {
        let at = comptime!(group_offset(config, before + group as u32));
        if comptime!(config.sums_at_once() == 4) {
            r2g_add_x4(target, at, &four(acc, group));
        } else {
            r2g_add(target, at, acc.values[group]);
        }
    }
}

/// The lane's sums from address `source` on. All loads come before the first use, so that they are in
/// flight together.
#[cube]
pub(crate) fn load(source: u64, #[comptime] config: BwdConfig) -> Accumulator {
    let layout = comptime!(config.query_layout());
    let mut acc = Accumulator::zeros(layout);
    #[unroll]
    for group in 0..comptime!(layout.len() / config.sums_at_once() as usize) {
        let at = comptime!(group as u32 * step(config));
        if comptime!(config.sums_at_once() == 4) {
            let sums = g2r_f32_x4(source, at);
            acc.values[comptime!(4 * group)] = sums.x;
            acc.values[comptime!(4 * group + 1)] = sums.y;
            acc.values[comptime!(4 * group + 2)] = sums.z;
            acc.values[comptime!(4 * group + 3)] = sums.w;
        } else {
            acc.values[group] = g2r_f32(source, at);
        }
    }
    acc
}

#[cfg(test)]
mod tests;
