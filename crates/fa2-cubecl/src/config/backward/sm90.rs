//! The backward's main kernel by warpgroups: the rules of its tile, and what it has beside the others.
//!
//! A warpgroup owns 64 keys: S^T, dP^T, dK and dV of them. Of dQ, which is a sum over the keys of all, it
//! owns 64 queries; where there are fewer such than warpgroups, some of their columns.
//!
//! Large heads leave no registers for that. Two warpgroups share 64 keys then: blocks of 64 queries, with
//! S, dP and dQ, go to one and the other in turn, and over all blocks one sums up dK, the other dV.

use crate::config::backward::{BwdConfig, BwdTile, Instructions, Loads, QuerySums};
use crate::config::sm90::{RegisterSplit, WARPGROUP, WARPGROUP_ROWS};
use crate::config::{MMA_K, MMA_M, MMA_N, WARP};
use crate::error::ConfigError;
use crate::mma::accumulator::AccumulatorLayout;
use crate::problem::Dtype;

/// Columns of a warpgroup's dK and dV that leave registers for S and dP: each takes half as many.
const MAX_HEAD_DIM: u32 = 128;
/// Columns of dQ that warpgroups which share keys multiply at once.
pub(crate) const DQ_COLUMNS: u32 = 64;
/// Registers of a thread of the warpgroup that loads, where two of its warps keep turns.
const KEEPING_REGISTERS: u32 = 32;
/// Bytes kept for the barriers behind the row terms; twice as many with those of turns.
const BARRIER_BYTES: u32 = 128;

/// The head size that `columns` columns are computed with.
///
/// Two warpgroups share the columns of dQ by halves, and 48 would begin within an atom of 32 and end in
/// another. So 96 is computed as 128.
pub(super) fn compiled_head_dim(columns: u32) -> Option<u32> {
    crate::config::compiled_head_dim(columns).map(|head_dim| match head_dim {
        96 => 128,
        other => other,
    })
}

impl BwdTile {
    /// A tile for warpgroups: each owns 64 of the keys.
    #[must_use]
    pub const fn warpgroups(block_m: u32, block_n: u32, stages: u32) -> Self {
        Self {
            block_m,
            block_n,
            warps: block_n / MMA_M,
            warps_n: 1,
            warps_dq: block_m / MMA_M,
            stages,
        }
    }

    /// A tile for two warpgroups that share 64 keys: one sums up dK, the other dV.
    #[must_use]
    pub const fn shared_keys(stages: u32) -> Self {
        Self {
            block_m: WARPGROUP_ROWS,
            block_n: WARPGROUP_ROWS,
            warps: WARPGROUP_ROWS / MMA_M,
            warps_n: 2,
            warps_dq: WARPGROUP_ROWS / MMA_M,
            stages,
        }
    }
}

impl BwdConfig {
    pub(super) fn check_warpgroups(&self) -> Result<(), ConfigError> {
        let BwdTile {
            block_m,
            block_n,
            warps,
            warps_n,
            warps_dq,
            stages,
        } = self.tile;
        if !(2..=3).contains(&stages) {
            return Err(ConfigError::QueryStages(stages));
        }
        if self.tile == BwdTile::shared_keys(stages) {
            return self.check_columns(DQ_COLUMNS);
        }
        if self.head_dim > MAX_HEAD_DIM {
            return Err(ConfigError::GradientRegisters {
                head_dim: self.head_dim,
                limit: MAX_HEAD_DIM,
            });
        }
        for rows in [block_m, block_n] {
            if !(rows.is_multiple_of(WARPGROUP_ROWS) && (1..=3).contains(&(rows / WARPGROUP_ROWS)))
            {
                return Err(ConfigError::Warpgroups(rows));
            }
        }
        if self.tile != BwdTile::warpgroups(block_m, block_n, stages) {
            return Err(ConfigError::Arrangement {
                warps,
                warps_n,
                warps_dq,
            });
        }
        if !block_n.is_multiple_of(block_m) {
            return Err(ConfigError::Multiple {
                what: "block_n",
                size: block_n,
                multiple: block_m,
            });
        }
        self.check_columns(MMA_K * (block_n / block_m))
    }

    fn check_columns(&self, multiple: u32) -> Result<(), ConfigError> {
        if self.head_dim.is_multiple_of(multiple) {
            return Ok(());
        }
        Err(ConfigError::Multiple {
            what: "head_dim",
            size: self.head_dim,
            multiple,
        })
    }

    /// Whether warpgroups make up the main kernel.
    #[must_use]
    pub const fn has_warpgroups(&self) -> bool {
        matches!(self.instructions, Instructions::Sm90a)
    }

    /// Whether two warpgroups share the keys of a cube: one sums up dK, the other dV.
    #[must_use]
    pub const fn shares_keys(&self) -> bool {
        self.has_warpgroups() && self.tile.warps_n == 2
    }

    /// A part of dQ of a warpgroup's queries, where warpgroups share keys.
    pub(crate) const fn query_part_layout(&self) -> AccumulatorLayout {
        AccumulatorLayout {
            n_tiles: (DQ_COLUMNS / MMA_N) as usize,
            ..self.gradient_layout()
        }
    }

    /// Whether dP is not started before dK of the block before has ended: where dS, which that reads from registers,
    /// leaves none for it.
    pub(crate) const fn ends_keys_before_dp(&self) -> bool {
        matches!(self.loads, Loads::Warpgroup) && self.tile.block_m == 128 && self.head_dim > 32
    }

    /// Warpgroups that compute.
    pub(crate) const fn warpgroups(&self) -> u32 {
        self.threads() / WARPGROUP
    }

    /// Registers of threads where a warpgroup loads.
    pub(crate) const fn registers(&self) -> RegisterSplit {
        let split = RegisterSplit::new(self.warpgroups());
        match self.query_sums {
            // Each of two warps that keep turns, beside two that load, has more to remember.
            QuerySums::Ordered if self.shares_keys() => {
                RegisterSplit::with_loading(split.warpgroups, KEEPING_REGISTERS)
            }
            _ => split,
        }
    }

    /// Threads of a cube of the main kernel.
    #[must_use]
    pub const fn key_threads(&self) -> u32 {
        match (self.instructions, self.loads) {
            (Instructions::Sm90a, Loads::Warpgroup) => self.threads() + WARPGROUP,
            _ => self.threads(),
        }
    }

    /// Tiles of dS^T. With two, a warpgroup stores dS of a block while another still reads that of the
    /// block before. Those that share keys have a tile of dS each, and one of P.
    pub(crate) const fn ds_tiles(&self) -> u32 {
        if self.shares_keys() {
            return self.warpgroups();
        }
        match (self.instructions, self.query_sums) {
            (Instructions::Sm80 | Instructions::Sm90, _) => 1,
            (Instructions::Sm90a, QuerySums::Atomic | QuerySums::Ordered) => 2,
            (Instructions::Sm90a, QuerySums::Owned) => 0,
        }
    }

    /// Whether the copy engine adds dQ to its sums, from shared memory. Where key blocks add in order, who ends a turn
    /// must see the additions ended, so registers are added.
    pub(crate) const fn adds_in_bulk(&self) -> bool {
        self.has_warpgroups() && !self.shares_keys() && matches!(self.query_sums, QuerySums::Atomic)
    }

    /// Bytes of a block's dQ in f32.
    pub(crate) const fn query_bytes(&self) -> u32 {
        self.block_m() * self.head_dim * 4
    }

    /// Whether dQ lies in the tile of dS that the next block's is stored to, on its way to the sums: a warp's in the
    /// rows of its own keys, so that no other warp's dS comes over it.
    pub(crate) const fn dq_is_in_ds(&self) -> bool {
        self.query_bytes() <= self.score_bytes()
    }

    /// Where dQ begins, where it goes through shared memory.
    pub(crate) const fn dq_offset(&self) -> u32 {
        if self.dq_is_in_ds() {
            self.ds_offset()
        } else {
            self.scores_end()
        }
    }

    /// Bytes of memory that dQ alone has.
    pub(crate) const fn dq_bytes(&self) -> u32 {
        if self.adds_in_bulk() && !self.dq_is_in_ds() {
            self.query_bytes()
        } else {
            0
        }
    }

    /// Bytes from the tile of one block's dQ to that of the next block.
    pub(crate) const fn dq_tile_bytes(&self) -> u32 {
        if self.dq_is_in_ds() {
            self.score_bytes()
        } else {
            0
        }
    }

    /// Bytes from a warp's dQ to that of the next warp: in a tile of dS, an atom's rows of a warp's keys.
    pub(crate) const fn dq_warp_bytes(&self) -> u32 {
        if self.dq_is_in_ds() {
            MMA_M * self.score_tile().atom_cols() as u32 * Dtype::BYTES
        } else {
            self.query_bytes() / (self.threads() / WARP)
        }
    }

    /// Bytes of a warp's dQ that lie together: all, or what one atom's rows hold.
    pub(crate) const fn dq_part_bytes(&self) -> u32 {
        let all = self.query_bytes() / (self.threads() / WARP);
        if self.dq_warp_bytes() < all {
            self.dq_warp_bytes()
        } else {
            all
        }
    }

    /// Bytes from one part to the next.
    pub(crate) const fn dq_part_stride(&self) -> u32 {
        self.score_tile().atom_bytes() as u32
    }

    /// Whether a thread has registers for a block's row terms: 16 of each kind for 64 queries. For 128 it has none, and
    /// none beside a warpgroup that loads, which leaves it 240 (ptxas spills).
    pub(crate) const fn holds_terms(&self) -> bool {
        self.block_m() == WARPGROUP_ROWS && matches!(self.loads(), Loads::Thread)
    }

    /// Bytes for barriers.
    pub(crate) const fn barrier_bytes(&self) -> u32 {
        match (self.instructions, self.query_sums) {
            (Instructions::Sm80 | Instructions::Sm90, _) => 0,
            (Instructions::Sm90a, QuerySums::Atomic | QuerySums::Owned) => BARRIER_BYTES,
            (Instructions::Sm90a, QuerySums::Ordered) => 2 * BARRIER_BYTES,
        }
    }
}

#[cfg(test)]
mod tests;
