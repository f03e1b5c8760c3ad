//! Where the tiles of the backward's main kernel lie in shared memory.
//!
//! ```text
//! K | V | stages of (Q | dO) | dS^T | P^T and dQ, where they go through here | stages of row terms | barriers
//! ```
//!
//! Only warpgroups have barriers here, and two tiles of dS^T; those that share keys have tiles of dS and P
//! instead, one each. Where the copy engine adds dQ, it lies in a tile of dS^T that has room for it, or in a tile
//! of its own. The row terms come after the tiles: they are no whole period of the swizzle.

use crate::config::backward::{BwdConfig, TERM_BYTES};
use crate::problem::Dtype;

impl BwdConfig {
    /// Bytes of a block of Q or dO.
    #[must_use]
    pub const fn q_bytes(&self) -> u32 {
        self.q_tile().elements() as u32 * Dtype::BYTES
    }

    /// Bytes of K or V.
    #[must_use]
    pub const fn kv_bytes(&self) -> u32 {
        self.kv_tile().elements() as u32 * Dtype::BYTES
    }

    /// Bytes of P^T or dS^T.
    #[must_use]
    pub const fn score_bytes(&self) -> u32 {
        self.score_tile().elements() as u32 * Dtype::BYTES
    }

    /// Bytes of a stage: a block of Q, then its block of dO.
    #[must_use]
    pub const fn stage_bytes(&self) -> u32 {
        2 * self.q_bytes()
    }

    /// Bytes of the row terms of a stage.
    #[must_use]
    pub const fn term_bytes(&self) -> u32 {
        self.block_m() * TERM_BYTES
    }

    /// Where the stages begin.
    pub(crate) const fn stages_offset(&self) -> u32 {
        2 * self.kv_bytes()
    }

    /// Where dS^T begins.
    pub(crate) const fn ds_offset(&self) -> u32 {
        self.stages_offset() + self.stages() * self.stage_bytes()
    }

    /// Where P^T begins, where it goes through shared memory.
    pub(crate) const fn p_offset(&self) -> u32 {
        self.ds_offset() + self.ds_tiles() * self.score_bytes()
    }

    /// Where the tiles of scores end.
    pub(crate) const fn scores_end(&self) -> u32 {
        if self.keeps_scores_in_registers() {
            self.p_offset()
        } else {
            self.p_offset() + self.ds_tiles() * self.score_bytes()
        }
    }

    /// Where the row terms begin.
    pub(crate) const fn terms_offset(&self) -> u32 {
        self.scores_end() + self.dq_bytes()
    }

    /// Where the barriers begin.
    pub(crate) const fn barriers_offset(&self) -> u32 {
        self.terms_offset() + self.stages() * self.term_bytes()
    }

    /// Dynamic shared memory of the main kernel.
    #[must_use]
    pub const fn shared_bytes(&self) -> u32 {
        self.barriers_offset() + self.barrier_bytes()
    }
}
