//! The side of a cube that loads: one thread fetches works and starts all copies.

use crate::config::sm90::FwdSm90Config;
use crate::copy::tma::TileOrigin;
use crate::kernel::forward_sm90::maps::{FETCHED, MAPS};
use crate::kernel::forward_sm90::pipeline::{Ring, Side};
use crate::pipeline::place::Place;
use crate::scheduler::{FwdShape, WorkTile, fetch_work, first_work, work_count, work_tile_at};
use crate::tensor::map::Maps;
use cubecl::prelude::*;

/// Copies Q, K and V of this cube's works: the first is that of its position, the others those that no cube has
/// fetched yet. `workspace` is the global address of maps and count.
#[cube]
pub(crate) fn produce(
    ring: &Ring,
    workspace: u64,
    shape: &FwdShape,
    #[comptime] config: FwdSm90Config,
) {
    let maps = Maps { address: workspace };
    maps.acquire(MAPS);
    let mut q_place = Place::first(1u32, 1u32);
    let mut place = Place::first(1u32, comptime!(config.stages()));
    let works = work_count(shape);
    let mut index = first_work();
    while index < works {
        let work = work_tile_at(shape, index, comptime!(config.blocks()));
        if work.blocks > 0 {
            // K's tile is empty before Q's is.
            ring.fill(maps.k(), &block(&work, 0u32, config), &place, Side::K);
            ring.announce(index, &q_place);
            let q = TileOrigin {
                row: work.row,
                head: work.head,
                batch: work.batch,
            };
            ring.fill_q(maps.q(), &q);
            ring.fill(maps.v(), &block(&work, 0u32, config), &place, Side::V);
            place.advance();
            for t in 1..work.blocks {
                let from = block(&work, t, config);
                ring.fill(maps.k(), &from, &place, Side::K);
                ring.fill(maps.v(), &from, &place, Side::V);
                place.advance();
            }
        } else {
            ring.announce(index, &q_place);
            ring.no_q();
        }
        q_place.advance();
        // Fetched earlier, a heavy work would keep the next one from cubes that are free.
        index = fetch_work(workspace, FETCHED);
    }
    ring.announce(index, &q_place);
    ring.no_q();
}

/// Where the `t`-th visited block of `work` begins.
#[cube]
fn block(work: &WorkTile, t: u32, #[comptime] config: FwdSm90Config) -> TileOrigin {
    TileOrigin {
        row: (work.blocks - t - 1) * comptime!(config.block_n()),
        head: work.head_kv,
        batch: work.batch,
    }
}
