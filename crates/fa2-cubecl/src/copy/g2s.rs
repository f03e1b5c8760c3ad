//! Global to shared: how the threads of a cube share the 16-byte chunks of a tile.
//!
//! Thread t copies chunk `t mod L` of row `t / L` and of every `threads / L` rows after it, for
//! every group of L chunks along the row; L is 8 on 128-byte rows and 4 on 64-byte ones. Each
//! element moves exactly once. O leaves by the same map (`s2g`).

use crate::config::Columns;
use crate::copy::atom::{CHUNK, g2s, g2s_predicated};
use crate::problem::Dtype;
use crate::tensor::evaluate::{evaluate, swizzled};
use cubecl::prelude::*;
use cute_layout::{Layout, SmemTile};

/// Which rows of a tile may lie outside the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rows {
    /// None.
    Whole,
    /// Those from a run-time limit on: they become zeros.
    Ragged,
}

/// How the threads of a cube share the rows of its tiles, which all have the same columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowShare {
    /// Threads that copy.
    pub threads: u32,
    /// Those that share a row of an atom.
    pub lanes_per_row: u32,
    /// Columns of the tiles.
    pub columns: u32,
    /// Whether the tensors have as many.
    pub kind: Columns,
}

impl RowShare {
    /// Rows that all threads copy in one pass.
    pub(crate) const fn rows_per_pass(&self) -> u32 {
        self.threads / self.lanes_per_row
    }

    /// Any tile of these columns: what the atoms of all of them are.
    const fn atom(&self) -> SmemTile {
        SmemTile::new(8, self.columns as usize)
    }

    /// Groups of `lanes_per_row` chunks in an atom's row.
    pub(crate) const fn groups_per_atom(&self) -> usize {
        self.atom().atom_cols() / (self.lanes_per_row * CHUNK) as usize
    }

    /// (chunk, row) of a thread as an element offset in an atom, before the swizzle.
    pub(crate) fn thread_layout(&self) -> Layout {
        let lanes = self.lanes_per_row as usize;
        Layout::new(
            (lanes, self.rows_per_pass() as usize),
            (CHUNK as usize, self.atom().atom_cols()),
        )
    }
}

/// One thread's share of the tile copies.
#[derive(CubeType)]
pub(crate) struct RowCopier {
    /// First row of this thread.
    pub row: u32,
    /// First column of this thread.
    pub column: u32,
    /// Byte offset of its first chunk in a tile, one for each group of lanes within an atom's row.
    pub chunks: Array<u32>,
    /// How the rows are shared.
    #[cube(comptime)]
    pub share: RowShare,
}

/// This thread's way through the rows of a tile in global memory.
#[derive(CubeType)]
pub(crate) struct RowWalk {
    /// Its [`global`](RowCopier::global) address.
    pub address: u64,
    /// Distance of the rows of two passes, in bytes.
    pub pass_bytes: u64,
    /// Rows from here on, counted from the tile's first, are outside the matrix.
    pub rows_inside: i32,
    /// Columns from here on are outside the matrix.
    pub columns_inside: u32,
}

#[cube]
impl RowCopier {
    /// The share of thread `thread`.
    pub fn new(thread: u32, #[comptime] share: RowShare) -> RowCopier {
        let lanes = comptime!(share.lanes_per_row);
        let groups = comptime!(share.groups_per_atom());
        let swizzle = comptime!(share.atom().swizzle());
        let offset = swizzled(evaluate(thread, comptime!(share.thread_layout())), swizzle);
        let mut chunks = Array::<u32>::new(groups);
        #[unroll]
        for group in 0..groups {
            // The group's columns don't reach the bits that the swizzle reads, and no bit of
            // theirs is set in the lanes' offsets: so they enter by xor.
            chunks[group] =
                (offset ^ comptime!(group as u32 * lanes * CHUNK)) * comptime!(Dtype::BYTES);
        }
        RowCopier {
            row: thread / lanes,
            column: (thread % lanes) * CHUNK,
            chunks,
            share,
        }
    }

    /// Address of this thread's first chunk in a matrix whose first row is at `matrix`.
    pub fn global(&self, matrix: u64, row_bytes: u64) -> u64 {
        matrix + self.row as u64 * row_bytes + (self.column * comptime!(Dtype::BYTES)) as u64
    }

    /// Starts the copies of a tile of `tile` at shared address `target`.
    ///
    /// Rows and columns outside the matrix become zeros where the comptime kinds say that there may
    /// be such.
    pub fn copy(
        &self,
        target: u32,
        source: &RowWalk,
        #[comptime] tile: SmemTile,
        #[comptime] rows: Rows,
    ) {
        let share = comptime!(self.share);
        let groups = comptime!(share.groups_per_atom());
        let group_cols = comptime!(share.lanes_per_row * CHUNK);
        let pass_rows = comptime!(share.rows_per_pass());
        let mut from = source.address;
        #[unroll]
        for pass in 0..comptime!(tile.rows() as u32 / pass_rows) {
            let row = (self.row + comptime!(pass * pass_rows)) as i32;
            #[unroll]
            for step in 0..comptime!(tile.cols() as u32 / group_cols) {
                let group = comptime!(step as usize % groups);
                let atom = comptime!(step as usize / groups * tile.atom_cols());
                let to = target + self.chunks[group];
                let offset =
                    comptime!(tile.offset((pass * pass_rows) as usize, atom) as u32 * Dtype::BYTES);
                let source_offset = comptime!(step * group_cols * Dtype::BYTES);
                let column = self.column + comptime!(step * group_cols);
                if comptime!(rows == Rows::Whole && share.kind == Columns::Exact) {
                    g2s(to, from, offset, source_offset);
                } else if comptime!(rows == Rows::Whole) {
                    g2s_predicated(
                        to,
                        from,
                        column < source.columns_inside,
                        offset,
                        source_offset,
                    );
                } else if comptime!(share.kind == Columns::Exact) {
                    g2s_predicated(to, from, row < source.rows_inside, offset, source_offset);
                } else {
                    let inside = row < source.rows_inside && column < source.columns_inside;
                    g2s_predicated(to, from, inside, offset, source_offset);
                }
            }
            from += source.pass_bytes;
        }
    }
}

#[cfg(test)]
mod tests;
