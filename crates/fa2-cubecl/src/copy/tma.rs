//! Global to shared by the tensor memory accelerator: a tile in one box for each of its column atoms.
//!
//! A box has the columns of an atom's row and the rows of the tile, and arrives in the swizzle that the
//! products read. What of it lies outside the tensor becomes zeros, and counts as copied.

use crate::copy::atom::{Coordinates4, g2s_box};
use crate::copy::barrier::SharedBarrier;
use crate::problem::Dtype;
use cubecl::prelude::*;
use cute_layout::SmemTile;

/// Where a tile begins: its first row in one head of one batch entry.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct TileOrigin {
    /// First row.
    pub row: u32,
    /// Head.
    pub head: u32,
    /// Batch entry.
    pub batch: u32,
}

/// Starts the copy of the tile at `from` of the tensor of `map` to shared address `target`; `barrier` must
/// expect all of the tile's bytes. One thread does it.
#[cube]
pub(crate) fn copy_tile(
    map: u64,
    from: &TileOrigin,
    target: u32,
    barrier: &SharedBarrier,
    #[comptime] tile: SmemTile,
) {
    let atom_cols = comptime!(tile.atom_cols() as u32);
    #[unroll]
    for atom in 0..comptime!(tile.cols() as u32 / atom_cols) {
        let origin = Coordinates4 {
            x: u32::new(comptime!((atom * atom_cols) as i64)),
            y: from.row,
            z: from.head,
            w: from.batch,
        };
        let offset = comptime!(tile.offset(0, (atom * atom_cols) as usize) as u32 * Dtype::BYTES);
        g2s_box(map, &origin, target, offset, barrier);
    }
}
