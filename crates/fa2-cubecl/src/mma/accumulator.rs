//! The C fragment: a lane's share of a tile of f32 sums, and which element each register is.
//!
//! With w the warp along M, g = lane / 4 and q = lane % 4, register (c0, c1, m, n) of a lane holds row
//! `16 (warps m + w) + g + 8 c1` and column `8 n + 2 q + c0` (claim L6).
//!
//! Where warps lie along N too, x the warp's number among `warps_n`, they take turns by pairs of atoms,
//! which is what one ldmatrix.x4 of the other operand serves: the column is then
//! `16 (warps_n (n / 2) + x) + 8 (n % 2) + 2 q + c0`.

use crate::config::{MMA_M, MMA_N};
use cubecl::prelude::*;

/// Registers of one m16n8 accumulator in a lane.
const ATOM_VALUES: usize = 4;

/// Register numbers of an accumulator tile: the compact layout ((2,2),M,N):((1,2),4,4M).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccumulatorLayout {
    /// Repeats of the atom along M for one warp.
    pub m_tiles: usize,
    /// Repeats along N.
    pub n_tiles: usize,
    /// Warps along M.
    pub warps: u32,
    /// Warps along N.
    pub warps_n: u32,
}

impl AccumulatorLayout {
    /// Registers of a lane.
    #[must_use]
    pub const fn len(&self) -> usize {
        ATOM_VALUES * self.m_tiles * self.n_tiles
    }

    /// Rows of a lane: two for each repeat along M.
    #[must_use]
    pub const fn rows(&self) -> usize {
        2 * self.m_tiles
    }

    /// Register of column bit `c`, row half `half`, repeats `m` and `n`.
    #[must_use]
    pub const fn index(&self, c: usize, half: usize, m: usize, n: usize) -> usize {
        c + 2 * half + ATOM_VALUES * (m + self.m_tiles * n)
    }

    /// Register of column bit `c` in the lane's row `row` (of [`rows`](Self::rows)).
    #[must_use]
    pub const fn index_in_row(&self, c: usize, row: usize, n: usize) -> usize {
        self.index(c, row % 2, row / 2, n)
    }

    /// Distance in rows from the lane's first element.
    #[must_use]
    pub const fn row_offset(&self, m: usize, half: usize) -> u32 {
        m as u32 * self.warps * MMA_M + 8 * half as u32
    }

    /// Distance in columns from the lane's first element.
    #[must_use]
    pub const fn column_offset(&self, c: usize, n: usize) -> u32 {
        let (pair, odd) = (n as u32 / 2, n as u32 % 2);
        (2 * self.warps_n * pair + odd) * MMA_N + c as u32
    }

    /// Distance of the rows of repeats `m` and 0, in 16-row tiles.
    #[must_use]
    pub const fn row_tile(&self, m: usize) -> usize {
        m * self.warps as usize
    }

    /// Distance of the columns of pair `pair` of atoms and the first, in 16-column tiles.
    #[must_use]
    pub const fn column_tile(&self, pair: usize) -> usize {
        pair * self.warps_n as usize
    }
}

/// A tile of f32 sums in registers.
#[derive(CubeType)]
pub(crate) struct Accumulator {
    /// The registers of this lane.
    pub values: Array<f32>,
    /// Their numbers.
    #[cube(comptime)]
    pub layout: AccumulatorLayout,
}

#[cube]
impl Accumulator {
    /// A tile whose values are set before they are read.
    pub fn undefined(#[comptime] layout: AccumulatorLayout) -> Accumulator {
        let values = Array::<f32>::new(comptime!(layout.len()));
        Accumulator { values, layout }
    }

    /// A tile of zeros.
    pub fn zeros(#[comptime] layout: AccumulatorLayout) -> Accumulator {
        let mut zeros = Accumulator::undefined(layout);
        zeros.clear();
        zeros
    }

    /// Makes all values zero.
    pub fn clear(&mut self) {
        #[unroll]
        for i in 0..comptime!(self.layout.len()) {
            self.values[i] = 0.0f32;
        }
    }
}

#[cfg(test)]
mod tests;
