//! Who waits for whom: the ring of blocks of Q and dO, and the tiles of dS.
//!
//! One of the ring's [`Stages`] holds a block of Q, its block of dO and its row terms, and is empty when all computing
//! warps have read them. Only who loads in a warpgroup of its own waits for that.
//!
//! K and V are copied once, and have a barrier of their own, the first.
//!
//! dS^T of a block is stored by all warpgroups into one of two tiles in turn, and read by all. One barrier of
//! the computing threads a block is enough: who passes that of block t + 1 has read block t's tile, so the
//! stores of block t + 2 may begin. It has left the stage of block t too, so a thread that computes may have it
//! filled.
//!
//! Where key blocks add to dQ in order, the sums of a query block have a count in global memory: of the key blocks
//! that have added theirs. A cube's turn has come when it is the number of key blocks before its own, all of which
//! see the query block too ([`Turns`]). Cubes of earlier keys have lower numbers, and hardware starts cubes in the
//! order of their numbers, though CUDA does not promise it: so who waits does so for cubes that run.

use crate::config::WARP;
use crate::config::backward::{BwdConfig, Loads, QuerySums};
use crate::copy::atom::g2s_bytes;
use crate::copy::barrier::{MBARRIER_BYTES, SharedBarrier, mbarrier_init_fence};
use crate::copy::tma::{TileOrigin, copy_tile};
use crate::kernel::backward::pipeline::sync_computing;
use crate::pipeline::stages::{StageForm, Stages};
use crate::pipeline::turns::{TURN_BYTES, Turns};
use crate::tensor::address::unit_position;
use crate::tensor::map::Maps;
use cubecl::prelude::*;
use cubecl_ptx::proxy::fence_shared_async;

/// Offset of the barrier of K and V.
const KEYS: u32 = 0;

impl BwdConfig {
    /// The barriers of the stages; those of turns follow.
    const fn query_stages(&self) -> StageForm {
        StageForm {
            full: KEYS + MBARRIER_BYTES,
            stages: self.stages(),
            readers: self.threads() / WARP,
        }
    }

    /// Bytes of all barriers.
    const fn query_barriers_end(&self) -> u32 {
        let turns = match self.query_sums() {
            QuerySums::Ordered => TURN_BYTES,
            QuerySums::Atomic | QuerySums::Owned => 0,
        };
        self.query_stages().end() + turns
    }
}

/// The shared memory of a cube: tiles, stages and barriers.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct QueryRing {
    /// Its shared address: K's tile is the first.
    pub shared: u32,
    #[cube(comptime)]
    pub config: BwdConfig,
}

#[cube]
impl QueryRing {
    /// The ring at shared address `shared`.
    pub fn new(shared: u32, #[comptime] config: BwdConfig) -> QueryRing {
        comptime!(assert!(
            config.query_barriers_end() <= config.barrier_bytes(),
            "QueryRing: the barriers must fit behind the row terms"
        ));
        QueryRing { shared, config }
    }

    fn barriers(&self) -> u32 {
        self.shared + comptime!(self.config.barriers_offset())
    }

    fn keys(&self) -> SharedBarrier {
        SharedBarrier {
            address: self.barriers(),
            offset: KEYS,
        }
    }

    /// Who waits for whom at the stages.
    pub fn stages(&self) -> Stages {
        Stages::new(self.barriers(), comptime!(self.config.query_stages()))
    }

    /// Shared address of the row terms of the block in `stage`.
    pub fn terms(&self, stage: u32) -> u32 {
        self.shared
            + comptime!(self.config.terms_offset())
            + stage * comptime!(self.config.term_bytes())
    }

    /// The turns of the warps that compute.
    pub fn turns(&self) -> Turns {
        let config = comptime!(self.config);
        Turns::new(
            self.barriers() + comptime!(config.query_stages().end()),
            comptime!(config.threads() / WARP),
        )
    }

    /// Starts the barriers' first phases.
    pub fn open(&self) {
        if unit_position() == 0 {
            self.keys().open(1u32);
            self.stages().open();
            if comptime!(self.config.query_sums() == QuerySums::Ordered) {
                self.turns().open();
            }
            mbarrier_init_fence();
        }
        // Orders: the initialisation of the barriers < every use of them.
        sync_cube();
    }

    /// Starts the copies of K and V.
    pub fn fill_keys(&self, maps: &Maps, from: &TileOrigin) {
        let config = comptime!(self.config);
        let (tile, bytes) = comptime!((config.kv_tile(), config.kv_bytes()));
        let keys = self.keys();
        keys.expect(comptime!(2 * bytes));
        copy_tile(maps.k(), from, self.shared, &keys, tile);
        copy_tile(maps.v(), from, self.shared + bytes, &keys, tile);
    }

    /// Starts the copies of a block of Q and dO, and of its row terms at global address `terms`, into the
    /// empty `stage`.
    pub fn fill(&self, maps: &Maps, from: &TileOrigin, terms: u64, stage: u32) {
        let config = comptime!(self.config);
        let (tile, term_bytes) = comptime!((config.q_tile(), config.term_bytes()));
        let full = self.stages().full(stage);
        let q = self.shared
            + comptime!(config.stages_offset())
            + stage * comptime!(config.stage_bytes());
        full.expect(comptime!(config.stage_bytes() + term_bytes));
        copy_tile(maps.q(), from, q, &full, tile);
        g2s_bytes(terms, self.terms(stage), term_bytes, &full);
        let d_o = q + comptime!(config.q_bytes());
        copy_tile(maps.d_o(), from, d_o, &full, tile);
    }

    /// Waits for K and V.
    pub fn wait_keys(&self) {
        // Orders: the copies of K and V < their reads by products.
        self.keys().wait(0u32);
    }

    /// Gives the block in `stage` back: this warp has read it.
    pub fn release(&self, stage: u32) {
        if comptime!(self.config.loads() == Loads::Warpgroup) {
            self.stages().release(stage);
        }
    }

    /// Makes dS of a block readable, and where a computing thread loads, the stage of the block before
    /// empty.
    pub fn publish(&self) {
        let config = comptime!(self.config);
        if comptime!(config.query_sums().in_memory()) {
            fence_shared_async();
        }
        if comptime!(config.query_sums().in_memory() || config.loads() == Loads::Thread) {
            // Orders: stores of dS by all computing threads < its reads by products; all reads of the block
            // before < the copies over it.
            sync_computing(config);
        }
    }
}
