//! Register to shared: 16x16 blocks of P^T and dS^T, as the A fragments that they are in registers.
//!
//! From SM90 on one `stmatrix` stores a block, by the addresses that `ldmatrix` would read it from as A;
//! before, four 4-byte stores do, each lane at its own pairs. Neither has bank conflicts.

use crate::config::MMA_K;
use crate::config::backward::Instructions;
use crate::copy::atom::{CHUNK_BYTES, Registers4, r2s, r2s_block};
use crate::copy::r2s::lane_layout;
use crate::copy::s2r::{Operand, steps_per_atom};
use crate::mma::accumulator::AccumulatorLayout;
use crate::problem::Dtype;
use crate::tensor::address::opaque;
use crate::tensor::evaluate::{evaluate, swizzled};
use cubecl::prelude::*;
use cute_layout::{Layout, SmemTile};

/// One lane's view of a tile as the target of an accumulator's blocks.
#[derive(CubeType)]
pub(crate) struct R2sBlock {
    /// Byte address in the tile's first block of this warp.
    pub base: u32,
    /// The tile.
    #[cube(comptime)]
    pub tile: SmemTile,
    /// Where the warp's blocks lie.
    #[cube(comptime)]
    pub layout: AccumulatorLayout,
    /// What stores them.
    #[cube(comptime)]
    pub instructions: Instructions,
}

/// Element offset that each lane addresses, before the swizzle.
pub(crate) fn block_lane_layout(instructions: Instructions, atom_cols: usize) -> Layout {
    match instructions {
        Instructions::Sm80 => lane_layout(atom_cols),
        Instructions::Sm90 | Instructions::Sm90a => Operand::A.lane_layout(atom_cols),
    }
}

#[cube]
impl R2sBlock {
    /// The view of `lane` of the warp `warp` along M and `warp_n` along N on the tile at shared address
    /// `base`.
    pub fn new(
        base: u32,
        warp: u32,
        warp_n: u32,
        lane: u32,
        #[comptime] tile: SmemTile,
        #[comptime] layout: AccumulatorLayout,
        #[comptime] instructions: Instructions,
    ) -> R2sBlock {
        let lanes = comptime!(block_lane_layout(instructions, tile.atom_cols()));
        let offset = swizzled(evaluate(lane, lanes), comptime!(tile.swizzle()));
        // A block's columns are bits that the lane's offset leaves clear, so xor adds them.
        let offset = offset ^ (warp_n * MMA_K);
        let row_bytes = comptime!(MMA_K * tile.atom_cols() as u32 * Dtype::BYTES);
        R2sBlock {
            base: base + warp * row_bytes + offset * comptime!(Dtype::BYTES),
            tile,
            layout,
            instructions,
        }
    }

    /// Addresses of the 16-column steps within an atom, made anew as those of
    /// [`S2r`](crate::copy::s2r::S2r).
    pub fn step_addresses(&self) -> Array<u32> {
        let steps = comptime!(steps_per_atom(&self.tile));
        let base = opaque(self.base);
        let mut addresses = Array::<u32>::new(steps);
        #[unroll]
        for step in 0..steps {
            addresses[step] = base ^ comptime!(step as u32 * MMA_K * Dtype::BYTES);
        }
        addresses
    }

    /// The view of the tile that lies `bytes` further.
    pub fn after(&self, bytes: u32) -> R2sBlock {
        R2sBlock {
            base: self.base + bytes,
            tile: comptime!(self.tile),
            layout: comptime!(self.layout),
            instructions: comptime!(self.instructions),
        }
    }

    /// Stores block `m` along M, pair `pair` along N, `column` blocks of 16 columns further along, to
    /// the tile that lies `bytes` further.
    pub fn store(
        &self,
        addresses: &Array<u32>,
        block: &Registers4,
        #[comptime] m: usize,
        #[comptime] pair: usize,
        #[comptime] column: usize,
        #[comptime] bytes: u32,
    ) {
        let steps = comptime!(steps_per_atom(&self.tile));
        let column = comptime!(self.layout.column_tile(pair) + column);
        let atom_cols = comptime!(self.tile.atom_cols());
        let offset = comptime!({
            let row = self.layout.row_offset(m, 0) as usize;
            bytes + self.tile.offset(row, column / steps * atom_cols) as u32 * Dtype::BYTES
        });
        let address = addresses[comptime!(column % steps)];
        if comptime!(self.instructions.has_sm90()) {
            r2s_block(address, offset, block);
        } else {
            let below = comptime!(offset + 8 * atom_cols as u32 * Dtype::BYTES);
            let beside = address ^ CHUNK_BYTES;
            r2s(address, offset, block.x);
            r2s(address, below, block.y);
            r2s(beside, offset, block.z);
            r2s(beside, below, block.w);
        }
    }
}

#[cfg(test)]
mod tests;
