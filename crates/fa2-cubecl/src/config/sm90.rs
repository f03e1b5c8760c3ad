//! `FwdSm90Config`: the one comptime value of a forward kernel for SM90, and the rules it obeys.

mod registers;

use crate::config::{Columns, MAX_SHARED_BYTES, WARP, compiled_head_dim};
use crate::error::ConfigError;
use crate::mask::MaskKind;
use crate::mma::accumulator::AccumulatorLayout;
use crate::problem::Dtype;
use crate::scheduler::FwdBlocks;
use crate::softmax::online::Rescale;
use cute_layout::SmemTile;
use serde::{Deserialize, Serialize};

pub(crate) use registers::RegisterSplit;

/// Threads of a warpgroup.
pub(crate) const WARPGROUP: u32 = 128;
/// Rows of a warpgroup's products.
pub(crate) const WARPGROUP_ROWS: u32 = 64;
/// Most rows of a tensor map's box.
const MAX_BOX_ROWS: u32 = 256;
/// Bytes kept for the barriers behind the tiles.
const BARRIER_BYTES: u32 = 128;

/// Sizes of the work of one cube (CTA).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FwdSm90Tile {
    /// Query rows of a cube: 64 for each warpgroup that computes, of which there are 1 to 3.
    pub block_m: u32,
    /// Key rows of a step.
    pub block_n: u32,
    /// K blocks, and V blocks, in shared memory at once: 1 to 3.
    pub stages: u32,
}

/// Whether warpgroups take turns at starting their products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turns {
    /// One after the other: the softmax of one runs under the products of another.
    Ordered,
    /// S one after the other: O += P V of one, which waits for P's registers, runs with S of the next.
    Scores,
    /// As they come.
    Free,
}

/// Comptime description of a forward kernel for SM90; equal values share one compiled kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FwdSm90Config {
    dtype: Dtype,
    head_dim: u32,
    columns: Columns,
    mask: MaskKind,
    tile: FwdSm90Tile,
    rescale: Rescale,
    turns: Turns,
}

impl FwdSm90Config {
    /// A configuration for tensors of `columns` columns.
    ///
    /// # Errors
    /// The first rule that `tile` breaks.
    pub fn new(
        dtype: Dtype,
        columns: u32,
        mask: MaskKind,
        tile: FwdSm90Tile,
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
            tile,
            rescale: Rescale::Lazy,
            turns: Turns::Ordered,
        };
        config.check()?;
        Ok(config)
    }

    /// The same with another rule for the exponent base.
    #[must_use]
    pub const fn with_rescale(mut self, rescale: Rescale) -> Self {
        self.rescale = rescale;
        self
    }

    /// The same with another order of the warpgroups.
    #[must_use]
    pub const fn with_turns(mut self, turns: Turns) -> Self {
        self.turns = turns;
        self
    }

    fn check(&self) -> Result<(), ConfigError> {
        let FwdSm90Tile {
            block_m,
            block_n,
            stages,
        } = self.tile;
        if !(block_m.is_multiple_of(WARPGROUP_ROWS) && (1..=3).contains(&self.warpgroups())) {
            return Err(ConfigError::Warpgroups(block_m));
        }
        if block_n == 0 || !block_n.is_multiple_of(16) {
            return Err(ConfigError::BlockN(block_n));
        }
        if block_n > MAX_BOX_ROWS {
            return Err(ConfigError::BoxRows {
                rows: block_n,
                limit: MAX_BOX_ROWS,
            });
        }
        if !(1..=3).contains(&stages) {
            return Err(ConfigError::Stages(stages));
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

    /// When O moves to a new exponent base.
    #[must_use]
    pub const fn rescale(&self) -> Rescale {
        self.rescale
    }

    /// Whether warpgroups take turns.
    #[must_use]
    pub const fn turns(&self) -> Turns {
        self.turns
    }

    /// Tile sizes.
    #[must_use]
    pub const fn tile(&self) -> FwdSm90Tile {
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

    /// K/V blocks in shared memory.
    #[must_use]
    pub const fn stages(&self) -> u32 {
        self.tile.stages
    }

    /// Warpgroups that compute; one more loads.
    #[must_use]
    pub const fn warpgroups(&self) -> u32 {
        self.tile.block_m / WARPGROUP_ROWS
    }

    /// Threads that compute.
    #[must_use]
    pub(crate) const fn computing_threads(&self) -> u32 {
        self.warpgroups() * WARPGROUP
    }

    /// Threads of a cube.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.computing_threads() + WARPGROUP
    }

    /// Registers of its threads. A thread that loads fetches works too: beside two warpgroups it needs more for
    /// that, and they can spare them.
    #[must_use]
    pub(crate) const fn registers(&self) -> RegisterSplit {
        match self.warpgroups() {
            2 => RegisterSplit::with_loading(2, 40),
            warpgroups => RegisterSplit::new(warpgroups),
        }
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

    /// Layout of S's accumulator.
    #[must_use]
    pub(crate) const fn s_layout(&self) -> AccumulatorLayout {
        self.accumulator(self.tile.block_n)
    }

    /// Layout of O's accumulator.
    #[must_use]
    pub(crate) const fn o_layout(&self) -> AccumulatorLayout {
        self.accumulator(self.head_dim)
    }

    /// A warp of a warpgroup owns 16 rows, as with the products of one warp.
    const fn accumulator(&self, columns: u32) -> AccumulatorLayout {
        AccumulatorLayout {
            m_tiles: 1,
            n_tiles: columns as usize / 8,
            warps: self.computing_threads() / WARP,
            warps_n: 1,
        }
    }

    /// Q's tile in shared memory.
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

    /// Bytes of all tiles: Q, the K blocks, the V blocks.
    #[must_use]
    pub(crate) const fn tile_bytes(&self) -> u32 {
        self.q_bytes() + 2 * self.tile.stages * self.kv_bytes()
    }

    /// Dynamic shared memory: the tiles, then the barriers.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        self.tile_bytes() + BARRIER_BYTES
    }
}

impl std::fmt::Display for FwdSm90Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FwdSm90Tile {
            block_m,
            block_n,
            stages,
        } = self.tile;
        write!(
            f,
            "{:?} D={} {:?} {:?} {block_m}x{block_n} {} warpgroups {stages} stages",
            self.dtype,
            self.head_dim,
            self.columns,
            self.mask,
            self.warpgroups()
        )?;
        if self.rescale == Rescale::Eager {
            f.write_str(" eager")?;
        }
        match self.turns {
            Turns::Ordered => {}
            Turns::Scores => f.write_str(" turns of S")?,
            Turns::Free => f.write_str(" no turns")?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
