//! Shared to global: a tile leaves in 16-byte stores, by the map that its like came in with.

use crate::config::Columns;
use crate::copy::atom::{CHUNK, s2g};
use crate::copy::g2s::{RowCopier, RowWalk};
use crate::problem::Dtype;
use cubecl::prelude::*;
use cute_layout::SmemTile;

/// Stores those of the first `rows` rows of a tile that are inside the target, and their columns that
/// are. `source` may lie a multiple of 8 rows into the tile.
#[cube]
pub(crate) fn store_rows(
    copier: &RowCopier,
    source: u32,
    target: &RowWalk,
    #[comptime] tile: SmemTile,
    #[comptime] rows: u32,
) {
    let share = comptime!(copier.share);
    let groups = comptime!(share.groups_per_atom());
    let group_cols = comptime!(share.lanes_per_row * CHUNK);
    let pass_rows = comptime!(share.rows_per_pass());
    let mut to = target.address;
    #[unroll]
    for pass in 0..comptime!(rows / pass_rows) {
        let row = (copier.row + comptime!(pass * pass_rows)) as i32;
        if row < target.rows_inside {
            #[unroll]
            for step in 0..comptime!(tile.cols() as u32 / group_cols) {
                let group = comptime!(step as usize % groups);
                let atom = comptime!(step as usize / groups * tile.atom_cols());
                let from = source + copier.chunks[group];
                let offset =
                    comptime!(tile.offset((pass * pass_rows) as usize, atom) as u32 * Dtype::BYTES);
                let target_offset = comptime!(step * group_cols * Dtype::BYTES);
                let column = copier.column + comptime!(step * group_cols);
                // With exact columns the right side is never expanded.
                if comptime!(share.kind == Columns::Exact) || column < target.columns_inside {
                    s2g(from, to, offset, target_offset);
                }
            }
        }
        to += target.pass_bytes;
    }
}
