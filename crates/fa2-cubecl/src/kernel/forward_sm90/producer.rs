//! The side of a cube that loads: one thread starts all copies.

use crate::config::sm90::FwdSm90Config;
use crate::copy::tma::TileOrigin;
use crate::kernel::forward_sm90::pipeline::{Ring, Side};
use crate::pipeline::place::Place;
use crate::scheduler::WorkTile;
use crate::tensor::map::{TENSOR_MAP_BYTES, acquire_map};
use cubecl::prelude::*;

/// Copies Q, and K and V of every block of `work`, the last first. `maps` is the global address of the
/// tensor maps of Q, K and V.
#[cube]
pub(crate) fn produce(ring: &Ring, maps: u64, work: &WorkTile, #[comptime] config: FwdSm90Config) {
    if work.blocks > 0 {
        let map_bytes = comptime!(TENSOR_MAP_BYTES as u64);
        let k_map = maps + map_bytes;
        let v_map = k_map + map_bytes;
        // Orders: the making of the maps by an earlier kernel < the copies that use them.
        acquire_map(maps);
        acquire_map(k_map);
        acquire_map(v_map);
        let q = TileOrigin {
            row: work.row,
            head: work.head,
            batch: work.batch,
        };
        ring.fill_q(maps, &q);
        let mut place = Place::first(1u32, comptime!(config.stages()));
        for t in 0..work.blocks {
            let block = TileOrigin {
                row: (work.blocks - t - 1) * comptime!(config.block_n()),
                head: work.head_kv,
                batch: work.batch,
            };
            ring.fill(k_map, &block, &place, Side::K);
            ring.fill(v_map, &block, &place, Side::V);
            place.advance();
        }
    }
}
