//! Shared to global: O leaves in 16-byte stores, by the map that Q came in with.

use crate::config::{Columns, FwdConfig};
use crate::copy::atom::{CHUNK, s2g};
use crate::copy::g2s::{RowCopier, groups_per_atom};
use crate::problem::Dtype;
use cubecl::prelude::*;

/// Stores the rows of O's tile below `rows_inside` and its columns below `columns_inside`.
///
/// `target` is this thread's [`global`](RowCopier::global) address in O.
#[cube]
pub(crate) fn store_rows(
    copier: &RowCopier,
    source: u32,
    target: u64,
    pass_bytes: u64,
    rows_inside: i32,
    columns_inside: u32,
    #[comptime] config: FwdConfig,
) {
    let tile = comptime!(config.q_tile());
    let groups = comptime!(groups_per_atom(&config));
    let group_cols = comptime!(config.lanes_per_row() * CHUNK);
    let pass_rows = comptime!(config.rows_per_pass());
    let mut to = target;
    #[unroll]
    for pass in 0..comptime!(tile.rows() as u32 / pass_rows) {
        let row = (copier.row + comptime!(pass * pass_rows)) as i32;
        if row < rows_inside {
            #[unroll]
            for step in 0..comptime!(tile.cols() as u32 / group_cols) {
                let group = comptime!(step as usize % groups);
                let atom = comptime!(step as usize / groups * tile.atom_cols());
                let from = source + copier.chunks[group];
                let offset =
                    comptime!(tile.offset((pass * pass_rows) as usize, atom) as u32 * Dtype::BYTES);
                let target_offset = comptime!(step * group_cols * Dtype::BYTES);
                if comptime!(config.columns() == Columns::Exact) {
                    s2g(from, to, offset, target_offset);
                } else if copier.column + comptime!(step * group_cols) < columns_inside {
                    s2g(from, to, offset, target_offset);
                }
            }
        }
        to += pass_bytes;
    }
}
