//! The sizes that the maps depend on, and the rules that a kernel's sizes obey.

use std::fmt;

use cute_layout::SmemTile;
use thiserror::Error;

use crate::engine::{Engine, RowCopy};

/// Head sizes that kernels are compiled for.
pub const HEAD_DIMS: [usize; 6] = [32, 64, 96, 128, 192, 256];
/// Lanes of a warp.
const WARP: usize = 32;
/// Elements of a 16-byte copy.
pub(crate) const CHUNK: usize = 8;
/// Rows, and depth, of the instruction m16n8k16; depth of a wgmma, and its rows a warp.
pub(crate) const MMA: usize = 16;
/// Warps of a warpgroup.
pub(crate) const WARPGROUP: usize = 4;
/// Warps of one, two and three warpgroups, more than which have no registers for their sums.
const WARPGROUPS: [usize; 3] = [WARPGROUP, 2 * WARPGROUP, 3 * WARPGROUP];
/// Columns of a wgmma at most.
const MAX_COLUMNS: usize = 256;
/// Bytes of an element.
const ELEMENT_BYTES: usize = 2;
/// Shared memory that a CTA can have on the largest GPU (SM90), in bytes.
const MAX_SHARED_BYTES: usize = 227 * 1024;

/// Sizes of one forward kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    head_dim: usize,
    block_m: usize,
    block_n: usize,
    warps: usize,
    row_copy: RowCopy,
}

/// A rule that the sizes break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SizesError {
    /// No kernel of this head size is compiled.
    #[error("head_dim {0} is none of 32, 64, 96, 128, 192, 256")]
    HeadDim(usize),
    /// Warp counts that a CTA can have.
    #[error("warps {0} is not a power of two from 1 to 16")]
    Warps(usize),
    /// Warp counts of whole warpgroups that wgmma kernels have.
    #[error("warps {0} are not one, two or three warpgroups of 4")]
    Warpgroups(usize),
    /// The warps don't tile the query rows.
    #[error("block_m {block_m} is not a multiple of 16 rows x {warps} warps")]
    BlockM {
        /// Query rows of a CTA.
        block_m: usize,
        /// Warps of a CTA.
        warps: usize,
    },
    /// A K/V block must hold whole 16-key steps of the second product.
    #[error("block_n {0} is not a multiple of 16")]
    BlockN(usize),
    /// One wgmma computes all columns of a step.
    #[error("block_n {0} is more than the 256 columns of a wgmma")]
    Columns(usize),
    /// The tile is no whole number of copies by all threads.
    #[error("{name} {rows} is not a multiple of the {pass} rows that all threads copy at once")]
    CopyPass {
        /// The size.
        name: &'static str,
        /// Its rows.
        rows: usize,
        /// Rows of one pass.
        pass: usize,
    },
    /// The tiles of Q, K and V don't fit the shared memory of any GPU.
    #[error("the tiles of Q, K and V take {bytes} bytes of shared memory, more than {limit}")]
    SharedMemory {
        /// Bytes needed.
        bytes: usize,
        /// Bytes there are.
        limit: usize,
    },
    /// A word that names no way to share a row.
    #[error("row_copy is none of half-row, whole-row and bulk")]
    RowCopy,
}

impl Sizes {
    /// Those of the article: D = 64, tiles of 64 x 64, 4 warps, four lanes a row.
    pub const ARTICLE: Self = Self {
        head_dim: 64,
        block_m: 64,
        block_n: 64,
        warps: 4,
        row_copy: RowCopy::HalfRow,
    };

    /// Those of the article in bulk: one warpgroup.
    pub const ONE_WARPGROUP: Self = Self {
        row_copy: RowCopy::Bulk,
        ..Self::ARTICLE
    };

    /// Sizes with `blocks` of `[query rows, key rows]`.
    ///
    /// # Errors
    /// The first rule that they break.
    pub fn new(
        head_dim: usize,
        blocks: [usize; 2],
        warps: usize,
        row_copy: RowCopy,
    ) -> Result<Self, SizesError> {
        let [block_m, block_n] = blocks;
        if !HEAD_DIMS.contains(&head_dim) {
            return Err(SizesError::HeadDim(head_dim));
        }
        match row_copy.engine() {
            Engine::Sm80 if !(warps.is_power_of_two() && warps <= 16) => {
                return Err(SizesError::Warps(warps));
            }
            Engine::Sm90 if !WARPGROUPS.contains(&warps) => {
                return Err(SizesError::Warpgroups(warps));
            }
            _ => {}
        }
        if block_m == 0 || !block_m.is_multiple_of(MMA * warps) {
            return Err(SizesError::BlockM { block_m, warps });
        }
        if block_n == 0 || !block_n.is_multiple_of(MMA) {
            return Err(SizesError::BlockN(block_n));
        }
        let bulk = row_copy.engine() == Engine::Sm90;
        if bulk && block_n > MAX_COLUMNS {
            return Err(SizesError::Columns(block_n));
        }
        let elements = block_m.saturating_add(block_n.saturating_mul(2));
        let bytes = elements.saturating_mul(head_dim * ELEMENT_BYTES);
        if bytes > MAX_SHARED_BYTES {
            let limit = MAX_SHARED_BYTES;
            return Err(SizesError::SharedMemory { bytes, limit });
        }
        let sizes = Self {
            head_dim,
            block_m,
            block_n,
            warps,
            row_copy,
        };
        if bulk {
            return Ok(sizes);
        }
        let pass = sizes.rows_per_pass();
        for (name, rows) in [("block_m", block_m), ("block_n", block_n)] {
            if !rows.is_multiple_of(pass) {
                return Err(SizesError::CopyPass { name, rows, pass });
            }
        }
        Ok(sizes)
    }

    /// Columns of Q, K, V and O.
    #[must_use]
    pub const fn head_dim(&self) -> usize {
        self.head_dim
    }

    /// Query rows of a CTA.
    #[must_use]
    pub const fn block_m(&self) -> usize {
        self.block_m
    }

    /// Key rows of a step.
    #[must_use]
    pub const fn block_n(&self) -> usize {
        self.block_n
    }

    /// Warps, laid along M.
    #[must_use]
    pub const fn warps(&self) -> usize {
        self.warps
    }

    /// Threads of a CTA.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.warps * WARP
    }

    /// Q's tile in shared memory, `(m, d)`; later O's.
    #[must_use]
    pub const fn q_tile(&self) -> SmemTile {
        SmemTile::new(self.block_m, self.head_dim)
    }

    /// The tile of a K or V block in shared memory, `(n, d)`.
    #[must_use]
    pub const fn kv_tile(&self) -> SmemTile {
        SmemTile::new(self.block_n, self.head_dim)
    }

    /// How a row is copied.
    #[must_use]
    pub const fn row_copy(&self) -> RowCopy {
        self.row_copy
    }

    /// Repeats of the instruction along M for one warp.
    #[must_use]
    pub const fn m_tiles(&self) -> usize {
        self.block_m / (MMA * self.warps)
    }

    /// Lanes that copy one row together, or the one that asks for it.
    pub(crate) const fn lanes_per_row(&self) -> usize {
        match self.row_copy {
            RowCopy::HalfRow => 4,
            RowCopy::WholeRow => self.q_tile().atom_cols() / CHUNK,
            RowCopy::Bulk => 1,
        }
    }

    /// Rows that all threads copy at once.
    pub(crate) const fn rows_per_pass(&self) -> usize {
        self.threads() / self.lanes_per_row()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            head_dim,
            block_m,
            block_n,
            warps,
            row_copy,
        } = self;
        let plural = if *warps == 1 { "" } else { "s" };
        write!(
            f,
            "D = {head_dim}, BM = {block_m}, BN = {block_n}, {warps} warp{plural}, {row_copy} copies"
        )
    }
}
