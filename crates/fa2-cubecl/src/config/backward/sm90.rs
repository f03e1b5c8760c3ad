//! The backward's main kernel by warpgroups: the rules of its tile, and what it has beside the others.
//!
//! A warpgroup owns 64 keys: S^T, dP^T, dK and dV of them. Of dQ, which is a sum over the keys of all, it
//! owns 64 queries; where there are fewer such than warpgroups, some of their columns.

use crate::config::backward::{BwdConfig, BwdTile, Instructions, Loads, QuerySums};
use crate::config::sm90::{WARPGROUP, WARPGROUP_ROWS};
use crate::config::{MMA_K, MMA_M};
use crate::error::ConfigError;

/// Columns of a warpgroup's dK and dV that leave registers for S and dP: each takes half as many.
const MAX_HEAD_DIM: u32 = 128;
/// Bytes kept for the barriers behind the row terms.
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
        for (what, size, multiple) in [
            ("block_n", block_n, block_m),
            ("head_dim", self.head_dim, MMA_K * (block_n / block_m)),
        ] {
            if !size.is_multiple_of(multiple) {
                return Err(ConfigError::Multiple {
                    what,
                    size,
                    multiple,
                });
            }
        }
        if !(2..=3).contains(&stages) {
            return Err(ConfigError::QueryStages(stages));
        }
        Ok(())
    }

    /// Whether warpgroups make up the main kernel.
    #[must_use]
    pub const fn has_warpgroups(&self) -> bool {
        matches!(self.instructions, Instructions::Sm90a)
    }

    /// Warpgroups that compute.
    pub(crate) const fn warpgroups(&self) -> u32 {
        self.threads() / WARPGROUP
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
    /// block before.
    pub(crate) const fn ds_tiles(&self) -> u32 {
        match (self.instructions, self.query_sums) {
            (Instructions::Sm80 | Instructions::Sm90, _) => 1,
            (Instructions::Sm90a, QuerySums::Atomic) => 2,
            (Instructions::Sm90a, QuerySums::Owned) => 0,
        }
    }

    /// Bytes for barriers.
    pub(crate) const fn barrier_bytes(&self) -> u32 {
        if self.has_warpgroups() {
            BARRIER_BYTES
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests;
