//! Shared to register: ldmatrix.x4 of 16x16 blocks, which arrive as operands of the multiply atom.
//!
//! Lane l gives the address of row `l mod 8` of matrix `l / 8`. Where the four matrices lie in the
//! 16x16 block is a layout of the lane; the swizzle is applied to it once, and every other step
//! over the tile is an immediate or one of a few precomputed bases.

use crate::config::{FwdConfig, MMA_K};
use crate::copy::atom::{CHUNK, Registers4, Transpose, s2r};
use crate::problem::Dtype;
use crate::tensor::address::opaque;
use crate::tensor::evaluate::{evaluate, swizzled};
use cubecl::prelude::*;
use cute_layout::{Layout, SmemTile};

/// The operand that a tile becomes, by what its rows and columns are in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    /// A: rows are M, columns are K. Q in S = Q K^T.
    A,
    /// A from its transpose: rows are K, columns are M.
    ATransposed,
    /// B: rows are N, columns are K. K in S = Q K^T.
    B,
    /// B from its transpose: rows are K, columns are N. V in O = P V.
    BTransposed,
}

impl Operand {
    /// Transposed tiles are delivered by the transposing form; memory is not touched.
    const fn transpose(self) -> Transpose {
        match self {
            Self::A | Self::B => Transpose::No,
            Self::ATransposed | Self::BTransposed => Transpose::Yes,
        }
    }

    /// Element offset, before the swizzle, of the row that each lane addresses.
    ///
    /// Modes are (row in the matrix, matrix bit 0, matrix bit 1). The second matrix is the second
    /// along M for A and along K for B, whose registers (0, 1) and (2, 3) then are the operands of
    /// two atoms along N.
    pub(crate) fn lane_layout(self, atom_cols: usize) -> Layout {
        let below = 8 * atom_cols;
        let beside = CHUNK as usize;
        match self {
            Self::A | Self::BTransposed => Layout::new((8, 2, 2), (atom_cols, below, beside)),
            Self::B | Self::ATransposed => Layout::new((8, 2, 2), (atom_cols, beside, below)),
        }
    }

    /// Blocks of 16 along K of a tile.
    pub(crate) const fn k_steps(self, tile: &SmemTile) -> usize {
        match self {
            Self::A | Self::B => tile.cols() / MMA_K as usize,
            Self::ATransposed | Self::BTransposed => tile.rows() / MMA_K as usize,
        }
    }

    /// Row and column, in 16x16 blocks, of block (`mn`, `k`): along M or N, and along K.
    pub(crate) const fn block(self, mn: usize, k: usize) -> [usize; 2] {
        match self {
            Self::A | Self::B => [mn, k],
            Self::ATransposed | Self::BTransposed => [k, mn],
        }
    }
}

/// One lane's view of a tile in shared memory as an operand.
#[derive(CubeType)]
pub(crate) struct S2r {
    /// Byte address of the lane's row in the tile's first 16 columns; one register, which moves
    /// with the stage.
    pub base: Array<u32>,
    /// Bytes from there to the tile that is read.
    #[cube(comptime)]
    pub offset: u32,
    /// The tile.
    #[cube(comptime)]
    pub tile: SmemTile,
    /// What it becomes.
    #[cube(comptime)]
    pub operand: Operand,
}

/// 16-column steps within an atom.
pub(crate) fn steps_per_atom(tile: &SmemTile) -> usize {
    tile.atom_cols() / MMA_K as usize
}

#[cube]
impl S2r {
    /// The view of lane `lane` on the tile at shared address `tile_base`, a multiple of an atom's
    /// row.
    pub fn new(
        tile_base: u32,
        lane: u32,
        #[comptime] tile: SmemTile,
        #[comptime] operand: Operand,
    ) -> S2r {
        let layout = comptime!(operand.lane_layout(tile.atom_cols()));
        let offset = swizzled(evaluate(lane, layout), comptime!(tile.swizzle()));
        let mut base = Array::<u32>::new(1usize);
        base[0] = tile_base + offset * comptime!(Dtype::BYTES);
        S2r {
            base,
            offset: 0u32,
            tile,
            operand,
        }
    }

    /// [`new`](Self::new) for a warp that starts `warp` blocks of 16 along M or N.
    pub fn of_warp(
        tile_base: u32,
        warp: u32,
        lane: u32,
        #[comptime] tile: SmemTile,
        #[comptime] operand: Operand,
    ) -> S2r {
        if comptime!(operand.transpose() == Transpose::No) {
            let row_bytes = comptime!(MMA_K * tile.atom_cols() as u32 * Dtype::BYTES);
            S2r::new(tile_base + warp * row_bytes, lane, tile, operand)
        } else {
            let mut view = S2r::new(tile_base, lane, tile, operand);
            // As a step in `step_addresses`: bits that are clear.
            view.base[0] ^= warp * comptime!(MMA_K * Dtype::BYTES);
            view
        }
    }

    /// The same view of the tile that lies `bytes` further: it costs no register.
    pub fn beside(&self, #[comptime] bytes: u32) -> S2r {
        let mut base = Array::<u32>::new(1usize);
        base[0] = self.base[0];
        S2r {
            base,
            offset: comptime!(self.offset + bytes),
            tile: comptime!(self.tile),
            operand: comptime!(self.operand),
        }
    }

    /// Moves the view by `bytes`, wrapping.
    pub fn advance(&mut self, bytes: u32) {
        self.base[0] += bytes;
    }

    /// Addresses of the 16-column steps within an atom, for the [`load`](Self::load)s of one block.
    ///
    /// A step's columns are bits that the lane's offset leaves clear and that no row reaches, so
    /// xor adds them. They are made anew for each block: kept over the loop, they would take the
    /// registers that the accumulators need.
    pub fn step_addresses(&self) -> Array<u32> {
        let steps = comptime!(steps_per_atom(&self.tile));
        let base = opaque(self.base[0]);
        let mut addresses = Array::<u32>::new(steps);
        #[unroll]
        for step in 0..steps {
            addresses[step] = base ^ comptime!(step as u32 * MMA_K * Dtype::BYTES);
        }
        addresses
    }

    /// The 16x16 block `mn` along M or N and `k` along K.
    pub fn load(
        &self,
        addresses: &Array<u32>,
        #[comptime] mn: usize,
        #[comptime] k: usize,
    ) -> Registers4 {
        let steps = comptime!(steps_per_atom(&self.tile));
        let [row, column] = comptime!(self.operand.block(mn, k));
        let offset = comptime!({
            let atom_column = column / steps * self.tile.atom_cols();
            let tile = self.tile.offset(row * MMA_K as usize, atom_column) as u32;
            self.offset + tile * Dtype::BYTES
        });
        s2r(
            addresses[comptime!(column % steps)],
            offset,
            comptime!(self.operand.transpose()),
        )
    }
}

/// The views of Q, K and V that a warp multiplies with.
#[derive(CubeType)]
pub(crate) struct Operands {
    /// Q, at this warp's rows.
    pub q: S2r,
    /// K, in the stage being read.
    pub k: S2r,
    /// V, in the stage being read.
    pub v: S2r,
}

#[cube]
impl Operands {
    /// Views of the tiles in shared memory: Q at `base`, then the stages.
    pub fn new(base: u32, warp: u32, lane: u32, #[comptime] config: FwdConfig) -> Operands {
        let warp_bytes = comptime!(16 * config.q_tile().atom_cols() as u32 * Dtype::BYTES);
        let k_base = base + comptime!(config.q_bytes());
        let v_base = k_base + comptime!(config.kv_bytes());
        Operands {
            q: S2r::new(
                base + warp * warp_bytes,
                lane,
                comptime!(config.q_tile()),
                Operand::A,
            ),
            k: S2r::new(k_base, lane, comptime!(config.kv_tile()), Operand::B),
            v: S2r::new(
                v_base,
                lane,
                comptime!(config.kv_tile()),
                Operand::BTransposed,
            ),
        }
    }
}

#[cfg(test)]
mod tests;
