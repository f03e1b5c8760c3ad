//! Global to shared: how the threads of a cube share the 16-byte chunks of a tile.
//!
//! Thread t copies chunk `t mod L` of row `t / L` and of every `threads / L` rows after it, for
//! every group of L chunks along the row; L is 8 on 128-byte rows and 4 on 64-byte ones. Each
//! element moves exactly once. O leaves by the same map (`s2g`).

use crate::config::{Columns, FwdConfig};
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

/// One thread's share of the tile copies.
#[derive(CubeType)]
pub(crate) struct RowCopier {
    /// First row of this thread.
    pub row: u32,
    /// First column of this thread.
    pub column: u32,
    /// Byte offset of its first chunk in a tile, one for each group of lanes within an atom's row.
    pub chunks: Array<u32>,
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

/// Groups of `lanes_per_row` chunks in an atom's row.
pub(crate) fn groups_per_atom(config: &FwdConfig) -> usize {
    config.q_tile().atom_cols() / (config.lanes_per_row() * CHUNK) as usize
}

/// (chunk, row) of a thread as an element offset in an atom, before the swizzle.
pub(crate) fn thread_layout(config: &FwdConfig) -> Layout {
    let lanes = config.lanes_per_row() as usize;
    let atom_cols = config.q_tile().atom_cols();
    Layout::new(
        (lanes, config.rows_per_pass() as usize),
        (CHUNK as usize, atom_cols),
    )
}

#[cube]
impl RowCopier {
    /// The share of thread `thread`.
    pub fn new(thread: u32, #[comptime] config: FwdConfig) -> RowCopier {
        let lanes = comptime!(config.lanes_per_row());
        let groups = comptime!(groups_per_atom(&config));
        let swizzle = comptime!(config.q_tile().swizzle());
        let offset = swizzled(evaluate(thread, comptime!(thread_layout(&config))), swizzle);
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
        #[comptime] config: FwdConfig,
    ) {
        let groups = comptime!(groups_per_atom(&config));
        let group_cols = comptime!(config.lanes_per_row() * CHUNK);
        let pass_rows = comptime!(config.rows_per_pass());
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
                if comptime!(rows == Rows::Whole && config.columns() == Columns::Exact) {
                    g2s(to, from, offset, source_offset);
                } else if comptime!(rows == Rows::Whole) {
                    g2s_predicated(
                        to,
                        from,
                        column < source.columns_inside,
                        offset,
                        source_offset,
                    );
                } else if comptime!(config.columns() == Columns::Exact) {
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
