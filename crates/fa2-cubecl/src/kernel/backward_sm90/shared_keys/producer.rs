//! What starts the copies: a thread for Q and K, another for dO and V.

use crate::config::backward::BwdConfig;
use crate::copy::tma::TileOrigin;
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, QueryWalk};
use crate::kernel::backward_sm90::maps::MAPS;
use crate::kernel::backward_sm90::shared_keys::pipeline::BlockRing;
use crate::kernel::backward_sm90::shared_keys::roles::Side;
use crate::kernel::backward_sm90::shared_keys::scores::{block_index, pair_count};
use crate::pipeline::place::Place;
use crate::tensor::map::Maps;
use cubecl::prelude::*;

/// Copies `side`'s share of `work`'s keys, and of every block that sees them. `terms` is the global address
/// of the row terms.
///
/// Blocks are taken by pairs. Where the last has no second block, zeros are copied in its place: rows that
/// no tensor has.
#[cube]
pub(crate) fn produce(
    ring: &BlockRing,
    maps: &Maps,
    terms: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] side: Side,
    #[comptime] config: BwdConfig,
) {
    let blocks = work.blocks * shape.group_size;
    if blocks > 0 {
        maps.acquire(MAPS);
        let keys = TileOrigin {
            row: work.key,
            head: work.head_kv,
            batch: work.batch,
        };
        ring.fill_keys(maps, &keys, side);
        let mut place = Place::first(1u32, comptime!(config.stages()));
        let mut walk = QueryWalk::first(work, config);
        for t in 0..2 * pair_count(blocks) {
            let exists = t < blocks;
            let block = select(exists, work.first + walk.block[0], shape.m_blocks);
            let head = select(exists, walk.head[0], 0u32);
            let queries = TileOrigin {
                row: block * comptime!(config.block_m()),
                head: work.head_kv * shape.group_size + head,
                batch: work.batch,
            };
            let index = block_index(&walk, exists, shape, work);
            let terms = terms + index * comptime!(config.term_bytes() as u64);
            ring.stages(side).wait_empty(&place);
            ring.fill(maps, &queries, terms, place.tile[0], side);
            place.advance();
            walk.advance(work);
        }
    }
}
