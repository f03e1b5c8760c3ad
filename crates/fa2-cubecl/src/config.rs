//! `FwdConfig`: the one comptime value of a forward kernel, and the rules it obeys.

pub(crate) mod backward;
pub(crate) mod sm90;

use crate::copy::g2s::RowShare;
use crate::error::ConfigError;
use crate::mask::MaskKind;
use crate::problem::Dtype;
use crate::scheduler::FwdBlocks;
use crate::score::ScoreKind;
use crate::softmax::online::Rescale;
use cute_layout::{MmaAtom, SmemTile, TiledMma};
use serde::{Deserialize, Serialize};

/// Lanes of a warp: the plane of every NVIDIA GPU.
pub const WARP: u32 = 32;
/// Rows of the tensor-core instruction m16n8k16.
pub const MMA_M: u32 = 16;
/// Columns of the tensor-core instruction.
pub const MMA_N: u32 = 8;
/// Depth of the tensor-core instruction.
pub const MMA_K: u32 = 16;
/// Shared memory that one cube can have on the largest GPU (SM90): 227 KiB.
pub const MAX_SHARED_BYTES: u32 = 227 * 1024;
/// Head sizes that kernels are compiled for.
pub const HEAD_DIMS: [u32; 6] = [32, 64, 96, 128, 192, 256];

/// Sizes of the work of one cube (CTA).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tile {
    /// Query rows of a cube.
    pub block_m: u32,
    /// Key rows of a step.
    pub block_n: u32,
    /// Warps, laid along M.
    pub warps: u32,
    /// K/V blocks in shared memory at once: 1, 2 or 3.
    pub stages: u32,
}

/// Whether the tensors have as many columns as the compiled kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Columns {
    /// As many.
    Exact,
    /// Fewer: the missing ones are zeros in shared memory and are not stored.
    Padded,
}

/// How the threads of a cube share a row when they copy a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowCopy {
    /// As many lanes as an atom's row has 16-byte chunks: 8 for 128-byte rows, 4 for 64-byte ones.
    /// Free of bank conflicts.
    WholeRow,
    /// Four lanes a row, as the article's 32 x 32 copy tile. On 128-byte rows two rows of a phase
    /// meet in the same banks.
    HalfRow,
}

/// Comptime description of a forward kernel; equal values share one compiled kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FwdConfig {
    dtype: Dtype,
    head_dim: u32,
    columns: Columns,
    mask: MaskKind,
    score: ScoreKind,
    tile: Tile,
    row_copy: RowCopy,
    rescale: Rescale,
}

impl FwdConfig {
    /// A configuration for tensors of `columns` columns.
    ///
    /// # Errors
    /// The first rule that `tile` breaks.
    pub fn new(
        dtype: Dtype,
        columns: u32,
        mask: MaskKind,
        tile: Tile,
    ) -> Result<Self, ConfigError> {
        let head_dim = compiled_head_dim(columns).ok_or(ConfigError::HeadDim(columns))?;
        let columns = if columns == head_dim {
            Columns::Exact
        } else {
            Columns::Padded
        };
        let config = Self {
            dtype,
            head_dim,
            columns,
            mask,
            score: ScoreKind::Scaled,
            tile,
            row_copy: RowCopy::WholeRow,
            rescale: Rescale::Lazy,
        };
        config.check()?;
        Ok(config)
    }

    /// The same with another way to share the rows of a copy.
    ///
    /// # Errors
    /// [`ConfigError::CopyPass`] where the tile is not a whole number of passes.
    pub fn with_row_copy(mut self, row_copy: RowCopy) -> Result<Self, ConfigError> {
        self.row_copy = row_copy;
        self.check()?;
        Ok(self)
    }

    /// The same with another rule for the exponent base.
    #[must_use]
    pub const fn with_rescale(mut self, rescale: Rescale) -> Self {
        self.rescale = rescale;
        self
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Tile {
            block_m,
            block_n,
            warps,
            stages,
        } = self.tile;
        if !(warps.is_power_of_two() && warps <= 16) {
            return Err(ConfigError::Warps(warps));
        }
        if block_m == 0 || !block_m.is_multiple_of(MMA_M * warps) {
            return Err(ConfigError::BlockM { block_m, warps });
        }
        if block_n == 0 || !block_n.is_multiple_of(MMA_K) {
            return Err(ConfigError::BlockN(block_n));
        }
        if !(1..=3).contains(&stages) {
            return Err(ConfigError::Stages(stages));
        }
        let pass = self.rows_per_pass();
        for (tile, rows) in [("Q", block_m), ("K and V", block_n)] {
            if !rows.is_multiple_of(pass) {
                return Err(ConfigError::CopyPass { tile, rows, pass });
            }
        }
        if self.shared_bytes() > MAX_SHARED_BYTES {
            return Err(ConfigError::SharedMemory {
                bytes: self.shared_bytes(),
                limit: MAX_SHARED_BYTES,
            });
        }
        Ok(())
    }

    /// Element type.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Columns that the kernel computes.
    #[must_use]
    pub const fn head_dim(&self) -> u32 {
        self.head_dim
    }

    /// Whether the tensors have as many.
    #[must_use]
    pub const fn columns(&self) -> Columns {
        self.columns
    }

    /// Mask kind.
    #[must_use]
    pub const fn mask(&self) -> MaskKind {
        self.mask
    }

    /// Score transform.
    #[must_use]
    pub const fn score(&self) -> ScoreKind {
        self.score
    }

    /// When O moves to a new exponent base.
    #[must_use]
    pub const fn rescale(&self) -> Rescale {
        self.rescale
    }

    /// Tile sizes.
    #[must_use]
    pub const fn tile(&self) -> Tile {
        self.tile
    }

    /// Query rows of a cube.
    #[must_use]
    pub const fn block_m(&self) -> u32 {
        self.tile.block_m
    }

    /// Key rows of a step.
    #[must_use]
    pub const fn block_n(&self) -> u32 {
        self.tile.block_n
    }

    /// What the schedule depends on.
    #[must_use]
    pub(crate) const fn blocks(&self) -> FwdBlocks {
        FwdBlocks {
            m: self.tile.block_m,
            n: self.tile.block_n,
            mask: self.mask,
        }
    }

    /// Warps of a cube.
    #[must_use]
    pub const fn warps(&self) -> u32 {
        self.tile.warps
    }

    /// K/V blocks in shared memory.
    #[must_use]
    pub const fn stages(&self) -> u32 {
        self.tile.stages
    }

    /// Threads of a cube.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.tile.warps * WARP
    }

    /// Repeats of the instruction along M for one warp (the article's R_M).
    #[must_use]
    pub const fn m_tiles(&self) -> usize {
        (self.tile.block_m / (MMA_M * self.tile.warps)) as usize
    }

    /// The multiply atom spread over the warps, which are laid along M only.
    #[must_use]
    pub fn tiled_mma(&self) -> TiledMma {
        let warps = self.tile.warps as usize;
        let tile = [
            MMA_M as usize * warps,
            self.tile.block_n as usize,
            MMA_K as usize,
        ];
        TiledMma::new(MmaAtom::m16n8k16(), [warps, 1, 1], tile)
    }

    /// Lanes that copy one row of a shared-memory atom.
    #[must_use]
    pub const fn lanes_per_row(&self) -> u32 {
        match self.row_copy {
            RowCopy::WholeRow => whole_row_lanes(self.head_dim),
            RowCopy::HalfRow => 4,
        }
    }

    /// Rows that all threads copy in one pass.
    #[must_use]
    pub const fn rows_per_pass(&self) -> u32 {
        self.threads() / self.lanes_per_row()
    }

    /// How the threads share the rows of the tiles.
    #[must_use]
    pub(crate) const fn row_share(&self) -> RowShare {
        RowShare {
            threads: self.threads(),
            lanes_per_row: self.lanes_per_row(),
            columns: self.head_dim,
            kind: self.columns,
        }
    }

    /// Q's tile in shared memory; later O's.
    #[must_use]
    pub const fn q_tile(&self) -> SmemTile {
        SmemTile::new(self.tile.block_m as usize, self.head_dim as usize)
    }

    /// The tile of one K or V block in shared memory.
    #[must_use]
    pub const fn kv_tile(&self) -> SmemTile {
        SmemTile::new(self.tile.block_n as usize, self.head_dim as usize)
    }

    /// Bytes of Q's tile.
    #[must_use]
    pub const fn q_bytes(&self) -> u32 {
        self.tile.block_m * self.head_dim * Dtype::BYTES
    }

    /// Bytes of one K or V block.
    #[must_use]
    pub const fn kv_bytes(&self) -> u32 {
        self.tile.block_n * self.head_dim * Dtype::BYTES
    }

    /// Bytes of a stage: a K block, then its V block.
    #[must_use]
    pub const fn stage_bytes(&self) -> u32 {
        2 * self.kv_bytes()
    }

    /// Dynamic shared memory: `(BM + 2 stages BN) D` elements (claim P1).
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        self.q_bytes() + self.tile.stages * self.stage_bytes()
    }
}

impl std::fmt::Display for FwdConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tile {
            block_m,
            block_n,
            warps,
            stages,
        } = self.tile;
        write!(
            f,
            "{:?} D={} {:?} {:?} {block_m}x{block_n} {warps} warps {stages} stages",
            self.dtype, self.head_dim, self.columns, self.mask
        )?;
        if self.rescale == Rescale::Eager {
            write!(f, " eager")?;
        }
        if self.row_copy == RowCopy::HalfRow {
            write!(f, " half-row copies")
        } else {
            Ok(())
        }
    }
}

/// Lanes for the 16-byte chunks of an atom's row in tiles of `columns` columns.
pub(crate) const fn whole_row_lanes(columns: u32) -> u32 {
    SmemTile::new(8, columns as usize).atom_cols() as u32 / 8
}

/// The smallest compiled head size that holds `columns`.
#[must_use]
pub fn compiled_head_dim(columns: u32) -> Option<u32> {
    HEAD_DIMS.into_iter().find(|&d| columns <= d && columns > 0)
}

#[cfg(test)]
pub(crate) mod tests;
