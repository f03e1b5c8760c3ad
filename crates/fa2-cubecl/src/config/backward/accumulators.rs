//! Who holds which element of the products of the backward.

use crate::config::backward::{BwdConfig, BwdTile, Instructions};
use crate::config::{MMA_K, MMA_M, MMA_N};
use crate::mma::accumulator::AccumulatorLayout;

/// Queries that a warp works on at once where P and dS stay in registers: with 32 keys a warp, more
/// would not leave room for the sums of dK and dV.
const QUERIES_IN_REGISTERS: u32 = 32;

impl BwdConfig {
    /// Whether P and dS are operands of dV and dK without a way through shared memory.
    #[must_use]
    pub const fn keeps_scores_in_registers(&self) -> bool {
        self.tile.warps_n == 1
    }

    /// Queries of S that a warp works on before it turns to the products.
    pub(crate) const fn queries_at_once(&self) -> u32 {
        match self.instructions {
            // A warpgroup's products run beside the code only as a whole.
            Instructions::Sm90a => self.tile.block_m,
            Instructions::Sm80 | Instructions::Sm90
                if self.keeps_scores_in_registers() && self.tile.block_m > QUERIES_IN_REGISTERS =>
            {
                QUERIES_IN_REGISTERS
            }
            Instructions::Sm80 | Instructions::Sm90 => self.tile.block_m,
        }
    }

    /// S^T, P^T, dP^T and dS^T of those queries: rows are keys, columns are queries. Where warpgroups share
    /// keys, S, P, dP and dS, of as many queries as keys.
    pub(crate) const fn score_layout(&self) -> AccumulatorLayout {
        self.key_rows(self.queries_at_once())
    }

    /// dK and dV: rows are keys, columns are theirs.
    pub(crate) const fn gradient_layout(&self) -> AccumulatorLayout {
        self.key_rows(self.head_dim)
    }

    const fn key_rows(&self, columns: u32) -> AccumulatorLayout {
        let BwdTile {
            block_n,
            warps,
            mut warps_n,
            ..
        } = self.tile;
        if self.shares_keys() {
            // A warpgroup has all columns of its scores and of its gradient.
            warps_n = 1;
        }
        AccumulatorLayout {
            m_tiles: (block_n / (MMA_M * warps)) as usize,
            n_tiles: (columns / (MMA_N * warps_n)) as usize,
            warps,
            warps_n,
        }
    }

    /// Warps along the columns of dQ.
    const fn query_warps_n(&self) -> u32 {
        self.tile.warps * self.tile.warps_n / self.tile.warps_dq
    }

    /// dQ of a block of queries, a warp's columns counted from its first.
    pub(crate) const fn query_layout(&self) -> AccumulatorLayout {
        let (warps, warps_n) = (self.tile.warps_dq, self.query_warps_n());
        AccumulatorLayout {
            m_tiles: (self.tile.block_m / (MMA_M * warps)) as usize,
            n_tiles: (self.head_dim / (MMA_N * warps_n)) as usize,
            warps,
            warps_n: match self.instructions {
                Instructions::Sm80 | Instructions::Sm90 => warps_n,
                // The columns of a warpgroup are neighbours.
                Instructions::Sm90a => 1,
            },
        }
    }

    /// From the first column of dQ of a warp to that of the warp beside it.
    pub(crate) const fn query_warp_columns(&self) -> u32 {
        match self.instructions {
            Instructions::Sm80 | Instructions::Sm90 => MMA_K,
            Instructions::Sm90a => self.head_dim / self.query_warps_n(),
        }
    }

    /// Sums of dQ that one addition takes: neighbouring registers of a lane.
    pub(crate) const fn sums_at_once(&self) -> u32 {
        match self.instructions {
            Instructions::Sm80 => 1,
            Instructions::Sm90 | Instructions::Sm90a => 4,
        }
    }
}
