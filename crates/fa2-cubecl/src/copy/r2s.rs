//! Register to shared: the owners of a C fragment scatter their pairs into a tile.
//!
//! A lane owns two neighbours of a row, so one 4-byte store each.

use crate::config::MMA_K;
use crate::copy::atom::{CHUNK, r2s};
use crate::mma::accumulator::AccumulatorLayout;
use crate::problem::Dtype;
use crate::tensor::evaluate::{evaluate, swizzled};
use cubecl::prelude::*;
use cute_layout::{Layout, SmemTile};

/// Element offset of a lane's first pair, before the swizzle: (q, g) at column 2q of row g.
pub(crate) fn lane_layout(atom_cols: usize) -> Layout {
    Layout::new((4, 8), (2, atom_cols))
}

/// One lane's view of a tile as the target of an accumulator.
#[derive(CubeType)]
pub(crate) struct R2s {
    /// Byte address of the lane's first pair, one for each chunk of an atom's row.
    pub bases: Array<u32>,
    /// The tile.
    #[cube(comptime)]
    pub tile: SmemTile,
    /// What is stored.
    #[cube(comptime)]
    pub layout: AccumulatorLayout,
}

pub(crate) fn chunks_per_atom(tile: &SmemTile) -> usize {
    tile.atom_cols() / CHUNK as usize
}

#[cube]
impl R2s {
    /// The view of `lane` of the warp `warp` along M and `warp_n` along N on the tile at shared
    /// address `base`.
    pub fn new(
        base: u32,
        warp: u32,
        warp_n: u32,
        lane: u32,
        #[comptime] tile: SmemTile,
        #[comptime] layout: AccumulatorLayout,
    ) -> R2s {
        let chunks = comptime!(chunks_per_atom(&tile));
        let lanes = comptime!(lane_layout(tile.atom_cols()));
        let offset = swizzled(evaluate(lane, lanes), comptime!(tile.swizzle()));
        // The columns of a warp are bits that the lane's offset leaves clear, so xor adds them.
        let offset = offset ^ (warp_n * MMA_K);
        let warp_base = base + warp * comptime!(16 * tile.atom_cols() as u32 * Dtype::BYTES);
        let mut bases = Array::<u32>::new(chunks);
        #[unroll]
        for chunk in 0..chunks {
            bases[chunk] =
                warp_base + (offset ^ comptime!(chunk as u32 * CHUNK)) * comptime!(Dtype::BYTES);
        }
        R2s {
            bases,
            tile,
            layout,
        }
    }

    /// Stores `pair` at atom (m, n) of the accumulator, row half `half`.
    pub fn store(
        &self,
        pair: u32,
        #[comptime] m: usize,
        #[comptime] half: usize,
        #[comptime] n: usize,
    ) {
        let tile = comptime!(self.tile);
        let chunks = comptime!(chunks_per_atom(&tile));
        let chunk = comptime!((self.layout.column_offset(0, n) / CHUNK) as usize);
        let offset = comptime!({
            let row = self.layout.row_offset(m, half) as usize;
            tile.offset(row, chunk / chunks * tile.atom_cols()) as u32 * Dtype::BYTES
        });
        r2s(self.bases[comptime!(chunk % chunks)], offset, pair);
    }
}

#[cfg(test)]
mod tests;
