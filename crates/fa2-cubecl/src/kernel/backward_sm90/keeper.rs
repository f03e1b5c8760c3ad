//! Who keeps the turns at the sums of dQ, where key blocks add in order: one thread of the warpgroup that loads.

use crate::config::backward::BwdConfig;
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, QueryWalk, query_block};
use crate::kernel::backward::sums;
use crate::pipeline::turns::Turns;
use cubecl::prelude::*;

/// Keeps the turns of `work`'s keys at every `stride`-th block that sees them, from block `first` on. `to_sums` is the
/// global address of the sums.
#[cube]
pub(crate) fn keep_turns(
    turns: &Turns,
    to_sums: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] first: u32,
    #[comptime] stride: u32,
    #[comptime] config: BwdConfig,
) {
    let number = work.key / comptime!(config.block_n());
    let mut walk = QueryWalk::first(work, config);
    #[unroll]
    for _ in 0..first {
        walk.advance(work);
    }
    let blocks = work.blocks * shape.group_size;
    for t in 0..(blocks + comptime!(stride - 1 - first)) / stride {
        let block = query_block(shape, work, walk.head[0], walk.block[0]);
        turns.keep(t, to_sums + sums::count_offset(block, config), number);
        #[unroll]
        for _ in 0..stride {
            walk.advance(work);
        }
    }
}
