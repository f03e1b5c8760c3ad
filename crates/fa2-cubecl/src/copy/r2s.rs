//! Register to shared: the C owners of O scatter their pairs into Q's tile.
//!
//! A lane owns two neighbours of a row, so one 4-byte store each. Every warp writes only the rows
//! of Q that it alone has read.

use crate::config::FwdConfig;
use crate::copy::atom::{CHUNK, r2s};
use crate::problem::Dtype;
use crate::tensor::evaluate::{evaluate, swizzled};
use cubecl::prelude::*;
use cute_layout::Layout;

/// Element offset of a lane's first pair, before the swizzle: (q, g) at column 2q of row g.
pub(crate) fn lane_layout(atom_cols: usize) -> Layout {
    Layout::new((4, 8), (2, atom_cols))
}

/// One lane's view of Q's tile as the target of O.
#[derive(CubeType)]
pub(crate) struct R2s {
    /// Byte address of the lane's first pair, one for each chunk of an atom's row.
    pub bases: Array<u32>,
}

pub(crate) fn chunks_per_atom(config: &FwdConfig) -> usize {
    config.q_tile().atom_cols() / CHUNK as usize
}

#[cube]
impl R2s {
    /// The view of `lane` of `warp` on the tile at shared address `base`.
    pub fn new(base: u32, warp: u32, lane: u32, #[comptime] config: FwdConfig) -> R2s {
        let tile = comptime!(config.q_tile());
        let chunks = comptime!(chunks_per_atom(&config));
        let layout = comptime!(lane_layout(tile.atom_cols()));
        let offset = swizzled(evaluate(lane, layout), comptime!(tile.swizzle()));
        let warp_base = base + warp * comptime!(16 * tile.atom_cols() as u32 * Dtype::BYTES);
        let mut bases = Array::<u32>::new(chunks);
        #[unroll]
        for chunk in 0..chunks {
            bases[chunk] =
                warp_base + (offset ^ comptime!(chunk as u32 * CHUNK)) * comptime!(Dtype::BYTES);
        }
        R2s { bases }
    }

    /// Stores `pair` at atom (m, n) of the accumulator, row half `half`.
    pub fn store(
        &self,
        pair: u32,
        #[comptime] m: usize,
        #[comptime] half: usize,
        #[comptime] n: usize,
        #[comptime] config: FwdConfig,
    ) {
        let chunks = comptime!(chunks_per_atom(&config));
        let tile = comptime!(config.q_tile());
        let offset = comptime!({
            let row = m * 16 * config.warps() as usize + 8 * half;
            tile.offset(row, n / chunks * tile.atom_cols()) as u32 * Dtype::BYTES
        });
        r2s(self.bases[comptime!(n % chunks)], offset, pair);
    }
}

#[cfg(test)]
mod tests;
