//! `BwdConfig`: the one comptime value of the backward kernels, and the rules it obeys.

mod accumulators;
mod shared;
pub(crate) mod sm90;

use crate::config::{
    Columns, MAX_SHARED_BYTES, MMA_K, MMA_M, WARP, compiled_head_dim, whole_row_lanes,
};
use crate::copy::g2s::RowShare;
use crate::error::ConfigError;
use crate::mask::MaskKind;
use crate::problem::Dtype;
use cute_layout::SmemTile;
use serde::{Deserialize, Serialize};

/// Bytes of a row's two terms, -LSE log2(e) and -delta.
pub(crate) const TERM_BYTES: u32 = 8;

/// Sizes of the work of one cube (CTA) of the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BwdTile {
    /// Query rows of a step.
    pub block_m: u32,
    /// Key rows of a cube.
    pub block_n: u32,
    /// Warps along the keys.
    pub warps: u32,
    /// Warps along the queries of S and the columns of dK and dV; warpgroups that share keys. With 1, P
    /// and dS go to the products in registers; with more, through shared memory.
    pub warps_n: u32,
    /// Warps along the queries of dQ; the others lie along its columns.
    pub warps_dq: u32,
    /// Blocks of Q and dO in shared memory at once: 1 or 2; with [`Instructions::Sm90a`] 2 or 3.
    pub stages: u32,
}

/// What the kernels may be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instructions {
    /// SM80's: pairs of P and dS are stored by 4 bytes, and dQ is added f32 by f32.
    Sm80,
    /// Those that SM90 added too: `stmatrix` for P and dS, and `red` of four f32 for dQ.
    Sm90,
    /// Those of SM90 alone too: the main kernel multiplies by warpgroups, and boxes of Q, K, V and dO are
    /// copied by one warpgroup more.
    Sm90a,
}

impl Instructions {
    /// Whether those that SM90 added are among them.
    pub(crate) const fn has_sm90(self) -> bool {
        !matches!(self, Self::Sm80)
    }
}

/// Who sums up dQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuerySums {
    /// All key blocks, in f32 in global memory, in no particular order.
    Atomic,
    /// All key blocks, in f32 in global memory, the later keys after the earlier: the same bits each time. Of
    /// meaning with [`Instructions::Sm90a`] only.
    Ordered,
    /// A kernel of its own, whose cubes own blocks of queries: the same bits each time.
    Owned,
}

impl QuerySums {
    /// Whether the main kernel adds to sums in global memory.
    #[must_use]
    pub const fn in_memory(self) -> bool {
        !matches!(self, Self::Owned)
    }

    /// Whether dQ has the same bits each time.
    #[must_use]
    pub const fn is_deterministic(self) -> bool {
        !matches!(self, Self::Atomic)
    }
}

/// Who starts the copies of the main kernel by warpgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loads {
    /// A warpgroup of its own. It leaves two that compute 240 registers a thread.
    Warpgroup,
    /// One of the threads that compute, behind the barrier that a step has anyway. Two warpgroups have all
    /// 255 registers a thread.
    Thread,
}

/// Comptime description of the backward kernels; equal values share compiled kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BwdConfig {
    dtype: Dtype,
    head_dim: u32,
    columns: Columns,
    mask: MaskKind,
    tile: BwdTile,
    instructions: Instructions,
    query_sums: QuerySums,
    loads: Loads,
}

impl BwdConfig {
    /// A configuration for tensors of `columns` columns, which runs on every GPU from SM80 on whose
    /// shared memory holds it.
    ///
    /// # Errors
    /// The first rule that `tile` breaks.
    pub fn new(
        dtype: Dtype,
        columns: u32,
        mask: MaskKind,
        tile: BwdTile,
    ) -> Result<Self, ConfigError> {
        Self::made_of(Instructions::Sm80, dtype, columns, mask, tile)
    }

    /// [`new`](Self::new) of other instructions.
    ///
    /// # Errors
    /// The first rule that `tile` breaks.
    pub fn made_of(
        instructions: Instructions,
        dtype: Dtype,
        columns: u32,
        mask: MaskKind,
        tile: BwdTile,
    ) -> Result<Self, ConfigError> {
        let head_dim = match instructions {
            Instructions::Sm80 | Instructions::Sm90 => compiled_head_dim(columns),
            Instructions::Sm90a => sm90::compiled_head_dim(columns),
        };
        let head_dim = head_dim.ok_or(ConfigError::HeadDim(columns))?;
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
            instructions,
            query_sums: QuerySums::Atomic,
            loads: Loads::Thread,
        };
        match instructions {
            Instructions::Sm80 | Instructions::Sm90 => config.check()?,
            Instructions::Sm90a => config.check_warpgroups()?,
        }
        let config = config.with_loads(Loads::Thread);
        if config.shared_bytes() > MAX_SHARED_BYTES {
            return Err(ConfigError::SharedMemory {
                bytes: config.shared_bytes(),
                limit: MAX_SHARED_BYTES,
            });
        }
        Ok(config)
    }

    /// The same with dQ summed up by others. Loads that [`QuerySums::Ordered`] needs stay where that is left again.
    #[must_use]
    pub const fn with_query_sums(mut self, query_sums: QuerySums) -> Self {
        self.query_sums = query_sums;
        self.with_loads(self.loads)
    }

    /// The same with copies started by others; of meaning with [`Instructions::Sm90a`] only. Where
    /// warpgroups share keys, or add to dQ in order, which takes a thread that waits for others, one more always
    /// loads.
    #[must_use]
    pub const fn with_loads(mut self, loads: Loads) -> Self {
        let is_ordered = matches!(self.query_sums, QuerySums::Ordered);
        self.loads = if self.shares_keys() || is_ordered {
            Loads::Warpgroup
        } else {
            loads
        };
        self
    }

    fn check(&self) -> Result<(), ConfigError> {
        let BwdTile {
            block_m,
            block_n,
            warps,
            warps_n,
            warps_dq,
            stages,
        } = self.tile;
        for count in [warps, warps_n, warps_dq] {
            if !(count.is_power_of_two() && count <= 16) {
                return Err(ConfigError::Warps(count));
            }
        }
        let all = warps * warps_n;
        if all > 16 || warps_dq > all {
            return Err(ConfigError::Warps(all));
        }
        if !(1..=2).contains(&stages) {
            return Err(ConfigError::Stages(stages));
        }
        // P and dS are tiles of whole 32-column atoms, and dQ's warps take 16 queries each.
        for (what, size, multiple) in [
            ("block_m", block_m, 32),
            ("block_m", block_m, MMA_K * warps_n),
            ("block_m", block_m, MMA_M * warps_dq),
            ("block_n", block_n, MMA_M * warps),
            ("head_dim", self.head_dim, MMA_K * warps_n),
            ("head_dim", self.head_dim, MMA_K * (all / warps_dq)),
        ] {
            if size == 0 || !size.is_multiple_of(multiple) {
                return Err(ConfigError::Multiple {
                    what,
                    size,
                    multiple,
                });
            }
        }
        // Warps side by side find their columns by xor within an atom.
        for (tile, side_by_side) in [
            (self.q_tile(), warps_n.max(all / warps_dq)),
            (self.score_tile(), warps_n.max(warps_dq)),
        ] {
            let steps = tile.atom_cols() as u32 / MMA_K;
            if side_by_side > steps {
                return Err(ConfigError::Atom {
                    warps: side_by_side,
                    steps,
                });
            }
        }
        Ok(())
    }

    /// Element type.
    #[must_use]
    pub const fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Columns that the kernels compute.
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

    /// Tile sizes.
    #[must_use]
    pub const fn tile(&self) -> BwdTile {
        self.tile
    }

    /// What the kernels may be made of.
    #[must_use]
    pub const fn instructions(&self) -> Instructions {
        self.instructions
    }

    /// Who sums up dQ.
    #[must_use]
    pub const fn query_sums(&self) -> QuerySums {
        self.query_sums
    }

    /// Who starts the copies of the main kernel by warpgroups.
    #[must_use]
    pub const fn loads(&self) -> Loads {
        self.loads
    }

    /// Query rows of a step.
    #[must_use]
    pub const fn block_m(&self) -> u32 {
        self.tile.block_m
    }

    /// Key rows of a cube.
    #[must_use]
    pub const fn block_n(&self) -> u32 {
        self.tile.block_n
    }

    /// Blocks of Q and dO in shared memory.
    #[must_use]
    pub const fn stages(&self) -> u32 {
        self.tile.stages
    }

    /// Threads of a cube; of the main kernel, those that compute.
    #[must_use]
    pub const fn threads(&self) -> u32 {
        self.tile.warps * self.tile.warps_n * WARP
    }

    /// How the threads share the rows of the tiles.
    pub(crate) const fn row_share(&self) -> RowShare {
        RowShare {
            threads: self.threads(),
            lanes_per_row: whole_row_lanes(self.head_dim),
            columns: self.head_dim,
            kind: self.columns,
        }
    }

    /// The tile of a block of Q or dO.
    pub(crate) const fn q_tile(&self) -> SmemTile {
        SmemTile::new(self.tile.block_m as usize, self.head_dim as usize)
    }

    /// The tile of K or V; later of dK or dV.
    pub(crate) const fn kv_tile(&self) -> SmemTile {
        SmemTile::new(self.tile.block_n as usize, self.head_dim as usize)
    }

    /// The tile of P^T or dS^T; of P or dS where warpgroups share keys.
    pub(crate) const fn score_tile(&self) -> SmemTile {
        SmemTile::new(self.tile.block_n as usize, self.tile.block_m as usize)
    }
}

impl std::fmt::Display for BwdConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BwdTile {
            block_m,
            block_n,
            warps,
            warps_n,
            warps_dq,
            stages,
        } = self.tile;
        write!(
            f,
            "{:?} D={} {:?} {:?} {block_m}x{block_n} {warps}x{warps_n} warps (dQ {warps_dq}) \
             {stages} stages",
            self.dtype, self.head_dim, self.columns, self.mask
        )?;
        match self.instructions {
            Instructions::Sm80 => {}
            Instructions::Sm90 => write!(f, " sm_90")?,
            Instructions::Sm90a => write!(f, " warpgroups, {:?} loads", self.loads)?,
        }
        match self.query_sums {
            QuerySums::Atomic => Ok(()),
            QuerySums::Ordered => f.write_str(" dQ in order"),
            QuerySums::Owned => f.write_str(" without dQ"),
        }
    }
}

#[cfg(test)]
pub(crate) mod grid;
#[cfg(test)]
mod tests;
