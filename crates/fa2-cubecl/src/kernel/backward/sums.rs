//! The sums of dQ: where they lie, and how a product is added to them.
//!
//! They lie as the registers do, [query block, warp, register, lane], with as many neighbouring registers
//! of a lane side by side as one addition takes. So the sums of one addition of a warp are contiguous.
//! Nobody reads them but `convert`.

use crate::config::WARP;
use crate::config::backward::BwdConfig;
use crate::copy::atom::{Accumulator4, r2g_add, r2g_add_x4};
use crate::mma::accumulator::Accumulator;
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// Byte offset of this lane's first sum of query block `block`, among those of all heads.
#[cube]
pub(crate) fn sums_offset(block: u64, #[comptime] config: BwdConfig) -> u64 {
    let unit = unit_position();
    let warp_words = comptime!(config.query_layout().len() as u32 * WARP);
    let block_bytes = comptime!((config.block_m() * config.head_dim()) as u64 * 4);
    let lane_words = unit % WARP * comptime!(config.sums_at_once());
    block * block_bytes + ((unit / WARP * warp_words + lane_words) * 4) as u64
}

/// Adds `acc_dq` to the sums of which this lane's first is at `target`.
#[cube]
pub(crate) fn add_sums(acc_dq: &Accumulator, target: u64, #[comptime] config: BwdConfig) {
    #[unroll]
    for group in 0..comptime!(acc_dq.layout.len() / config.sums_at_once() as usize) {
        if comptime!(config.sums_at_once() == 4) {
            let sums = Accumulator4 {
                x: acc_dq.values[comptime!(4 * group)],
                y: acc_dq.values[comptime!(4 * group + 1)],
                z: acc_dq.values[comptime!(4 * group + 2)],
                w: acc_dq.values[comptime!(4 * group + 3)],
            };
            r2g_add_x4(target, comptime!(group as u32 * 16 * WARP), &sums);
        } else {
            r2g_add(
                target,
                comptime!(group as u32 * 4 * WARP),
                acc_dq.values[group],
            );
        }
    }
}
