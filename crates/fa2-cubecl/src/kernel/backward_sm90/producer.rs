//! What starts the copies: a warpgroup of its own, or one of the threads that compute.

use crate::config::backward::BwdConfig;
use crate::copy::tma::TileOrigin;
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, QueryWalk, query_block};
use crate::kernel::backward_sm90::maps::MAPS;
use crate::kernel::backward_sm90::pipeline::QueryRing;
use crate::pipeline::place::Place;
use crate::tensor::map::Maps;
use cubecl::prelude::*;

/// The copies to come.
#[derive(CubeType)]
pub(crate) struct Loader {
    maps: Maps,
    /// Global address of the row terms.
    terms: u64,
    /// The next block.
    walk: QueryWalk,
}

#[cube]
impl Loader {
    /// All copies for `work`; `maps` and `terms` are global addresses.
    pub fn new(maps: u64, terms: u64, work: &KeyTile, #[comptime] config: BwdConfig) -> Loader {
        Loader {
            maps: Maps { address: maps },
            terms,
            walk: QueryWalk::first(work, config),
        }
    }

    /// Starts the copies of `work`'s keys and values; the first of all.
    pub fn load_keys(&self, ring: &QueryRing, work: &KeyTile) {
        self.maps.acquire(MAPS);
        let keys = TileOrigin {
            row: work.key,
            head: work.head_kv,
            batch: work.batch,
        };
        ring.fill_keys(&self.maps, &keys);
    }

    /// Starts the copies of the next block of Q and dO, and of its row terms, into `stage`.
    pub fn load(&self, ring: &QueryRing, stage: u32, shape: &BwdShape, work: &KeyTile) {
        let config = comptime!(ring.config);
        let (head, block) = (self.walk.head[0], self.walk.block[0]);
        let queries = TileOrigin {
            row: (work.first + block) * comptime!(config.block_m()),
            head: work.head_kv * shape.group_size + head,
            batch: work.batch,
        };
        let index = query_block(shape, work, head, block);
        let terms = self.terms + index * comptime!(config.term_bytes() as u64);
        ring.fill(&self.maps, &queries, terms, stage);
    }

    /// Leaves the block.
    pub fn advance(&mut self, work: &KeyTile) {
        self.walk.advance(work);
    }
}

/// Copies the keys and values of `work`, and every block that sees them. One thread of the warpgroup that
/// loads does it.
#[cube]
pub(crate) fn produce(
    ring: &QueryRing,
    loader: &mut Loader,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    let steps = work.blocks * shape.group_size;
    if steps > 0 {
        loader.load_keys(ring, work);
        let mut place = Place::first(1u32, comptime!(config.stages()));
        for _ in 0..steps {
            ring.stages().wait_empty(&place);
            loader.load(ring, place.tile[0], shape, work);
            loader.advance(work);
            place.advance();
        }
    }
}
