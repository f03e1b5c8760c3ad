//! The sums of dQ in global memory, which the key blocks add to and `convert` reads.
//!
//! They lie as the registers do, [query block, warp, register, lane], with as many neighbouring registers
//! of a lane side by side as one addition takes. So the sums of one addition of a warp are contiguous.

use crate::config::WARP;
use crate::config::backward::BwdConfig;
use crate::copy::atom::{Accumulator4, g2r_f32, g2r_f32_x4, r2g_add, r2g_add_x4};
use crate::mma::accumulator::Accumulator;
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// Bytes between two neighbouring registers' sums where a lane adds them one by one, and from four to the
/// next four where it adds four at once: all lanes' sums.
const fn step(config: BwdConfig) -> u32 {
    4 * config.sums_at_once() * WARP
}

/// Byte offset of this lane's first sum of query block `block`, among those of all heads.
#[cube]
pub(crate) fn offset(block: u64, #[comptime] config: BwdConfig) -> u64 {
    let unit = unit_position();
    let warp_words = comptime!(config.query_layout().len() as u32 * WARP);
    let block_bytes = comptime!((config.block_m() * config.head_dim()) as u64 * 4);
    let lane_words = unit % WARP * comptime!(config.sums_at_once());
    block * block_bytes + ((unit / WARP * warp_words + lane_words) * 4) as u64
}

/// Adds `acc` to the lane's sums from address `target` on.
#[cube]
pub(crate) fn add(acc: &Accumulator, target: u64, #[comptime] config: BwdConfig) {
    #[unroll]
    for group in 0..comptime!(acc.layout.len() / config.sums_at_once() as usize) {
        let at = comptime!(group as u32 * step(config));
        if comptime!(config.sums_at_once() == 4) {
            let sums = Accumulator4 {
                x: acc.values[comptime!(4 * group)],
                y: acc.values[comptime!(4 * group + 1)],
                z: acc.values[comptime!(4 * group + 2)],
                w: acc.values[comptime!(4 * group + 3)],
            };
            r2g_add_x4(target, at, &sums);
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
