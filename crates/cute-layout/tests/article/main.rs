//! The claims of the article about layouts: its per-thread formulas against the algebra.
//!
//! The setting is the article's: D = 64, 64 queries, 64 keys, 128 threads as 4 warps along M. The
//! formulas are written out here, thread by thread; nothing of the crate is used to compute them.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod banks;
mod copies;
mod ownership;

use cute_layout::{CopyAtom, Layout, MmaAtom, TiledCopy, TiledMma};

pub(crate) const D: usize = 64;
pub(crate) const BLOCK: usize = 64;
pub(crate) const THREADS: usize = 128;

/// The article's `tiled_mma`.
pub(crate) fn article_mma() -> TiledMma {
    TiledMma::new(MmaAtom::m16n8k16(), [4, 1, 1], [64, 64, 16])
}

/// `(w, g, q)` of a thread.
pub(crate) fn wgq(tid: usize) -> (usize, usize, usize) {
    (tid / 32, tid % 32 / 4, tid % 4)
}

/// `(row, col)` of an index in a column-major tile of 64 rows: the identity tensor of the article.
pub(crate) fn coordinate(index: usize) -> (usize, usize) {
    (index % BLOCK, index / BLOCK)
}

/// The 64 x 64 tile whose indices are its coordinates.
pub(crate) fn identity() -> Layout {
    Layout::compact((BLOCK, BLOCK))
}

/// The article's `G2SRow`: 4 lanes a row.
pub(crate) fn half_row_copy() -> TiledCopy {
    copy_of_lanes(4)
}

/// A copy of 16-byte vectors with `lanes` a row, row by row.
pub(crate) fn copy_of_lanes(lanes: usize) -> TiledCopy {
    let threads = Layout::compact_row((THREADS / lanes, lanes));
    TiledCopy::new(
        CopyAtom::cp_async_16(),
        &threads,
        &Layout::compact_row((1, 8)),
    )
    .unwrap()
}
