//! Who waits for whom: the ring of blocks of Q and dO, and the tiles of dS.
//!
//! A stage of the ring holds a block of Q, its block of dO and its row terms, and stages are used in turn
//! (see [`Place`]). Of each, two barriers in shared memory keep count:
//!
//! - *full*: ends a phase when the copies have arrived.
//! - *empty*: ends a phase when all computing warps have read the stage. Only who loads in a warpgroup of its
//!   own waits for it.
//!
//! K and V are copied once, and have a barrier of their own, the first.
//!
//! dS^T of a block is stored by all warpgroups into one of two tiles in turn, and read by all. One barrier of
//! the computing threads a block is enough: who passes that of block t + 1 has read block t's tile, so the
//! stores of block t + 2 may begin. It has left the stage of block t too, so a thread that computes may have it
//! filled.
//!
//! Where key blocks add to dQ in order, each warp's sums of a query block have a count in global memory: of the
//! key blocks that have added theirs. A warp waits for the count to be the number of key blocks before its own,
//! all of which see the query block too, adds, and counts itself. Cubes start in the order of their numbers, and
//! those of earlier keys have lower ones, so who waits does so for cubes that run.

use crate::config::WARP;
use crate::config::backward::{BwdConfig, Loads};
use crate::copy::atom::{g2s_bytes, sync_warp};
use crate::copy::tma::{TileOrigin, copy_tile};
use crate::kernel::backward::pipeline::sync_computing;
use crate::kernel::backward::scheduler::KeyTile;
use crate::pipeline::place::Place;
use crate::tensor::address::unit_position;
use crate::tensor::gmem::{await_count, set_count};
use crate::tensor::map::Maps;
use cubecl::prelude::*;
use cubecl_ptx::mbarrier::{
    MBARRIER_BYTES, mbarrier_arrive, mbarrier_expect, mbarrier_init, mbarrier_init_fence,
    mbarrier_wait,
};
use cubecl_ptx::proxy::fence_shared_async;

/// Offset of the barrier of K and V.
const KEYS: u32 = 0;

impl BwdConfig {
    /// Offset of the barrier that the first stage is full; those of the other stages follow.
    const fn full(&self) -> u32 {
        KEYS + MBARRIER_BYTES
    }

    /// Offset of the barrier that the first stage is empty; those of the other stages follow.
    const fn empty(&self) -> u32 {
        self.full() + self.stages() * MBARRIER_BYTES
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
            config.empty() + config.stages() * MBARRIER_BYTES <= config.barrier_bytes(),
            "QueryRing: the barriers must fit behind the row terms"
        ));
        QueryRing { shared, config }
    }

    fn barriers(&self) -> u32 {
        self.shared + comptime!(self.config.barriers_offset())
    }

    fn barriers_of(&self, stage: u32) -> u32 {
        self.barriers() + stage * MBARRIER_BYTES
    }

    /// Shared address of the row terms of the block in `stage`.
    pub fn terms(&self, stage: u32) -> u32 {
        self.shared
            + comptime!(self.config.terms_offset())
            + stage * comptime!(self.config.term_bytes())
    }

    /// Starts the barriers' first phases.
    pub fn open(&self) {
        let config = comptime!(self.config);
        if unit_position() == 0 {
            mbarrier_init(self.barriers(), KEYS, 1u32);
            #[unroll]
            for stage in 0..comptime!(config.stages()) {
                let offset = comptime!(stage * MBARRIER_BYTES);
                mbarrier_init(self.barriers(), comptime!(config.full() + offset), 1u32);
                // One arrival a warp.
                mbarrier_init(
                    self.barriers(),
                    comptime!(config.empty() + offset),
                    comptime!(config.threads() / WARP),
                );
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
        let barrier = self.barriers();
        mbarrier_expect(barrier, KEYS, comptime!(2 * bytes));
        copy_tile(maps.k(), from, self.shared, barrier, KEYS, tile);
        copy_tile(maps.v(), from, self.shared + bytes, barrier, KEYS, tile);
    }

    /// Waits until the stage of `place` may be filled.
    pub fn wait_empty(&self, place: &Place) {
        let empty = comptime!(self.config.empty());
        // Orders: all reads of the stage's last block < the copies of this one over it.
        mbarrier_wait(self.barriers_of(place.tile[0]), empty, place.parity[0]);
    }

    /// Starts the copies of a block of Q and dO, and of its row terms at global address `terms`, into the
    /// empty `stage`.
    pub fn fill(&self, maps: &Maps, from: &TileOrigin, terms: u64, stage: u32) {
        let config = comptime!(self.config);
        let full = comptime!(config.full());
        let (tile, term_bytes) = comptime!((config.q_tile(), config.term_bytes()));
        let barrier = self.barriers_of(stage);
        let q = self.shared
            + comptime!(config.stages_offset())
            + stage * comptime!(config.stage_bytes());
        mbarrier_expect(barrier, full, comptime!(config.stage_bytes() + term_bytes));
        copy_tile(maps.q(), from, q, barrier, full, tile);
        g2s_bytes(terms, self.terms(stage), term_bytes, barrier, full);
        copy_tile(
            maps.d_o(),
            from,
            q + comptime!(config.q_bytes()),
            barrier,
            full,
            tile,
        );
    }

    /// Waits for K and V.
    pub fn wait_keys(&self) {
        // Orders: the copies of K and V < their reads by products.
        mbarrier_wait(self.barriers(), KEYS, 0u32);
    }

    /// Waits for the block at `place`.
    pub fn wait(&self, place: &Place) {
        let full = comptime!(self.config.full());
        // Orders: the copies of the block < its reads by products, and of the terms by loads.
        mbarrier_wait(self.barriers_of(place.tile[0]), full, place.parity[0]);
    }

    /// Gives the block in `stage` back: this warp has read it.
    #[allow(
        clippy::collapsible_if,
        reason = "the outer condition is one of comptime"
    )]
    pub fn release(&self, stage: u32) {
        if comptime!(self.config.loads() == Loads::Warpgroup) {
            if unit_position().is_multiple_of(WARP) {
                let empty = comptime!(self.config.empty());
                // Orders: this warp's reads of the block < the copies of a later one over it.
                mbarrier_arrive(self.barriers_of(stage), empty);
            }
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

/// Waits until the keys before those of `work` have added to a warp's sums, whose count is at global address
/// `count`.
#[cube]
pub(crate) fn take_turn(count: u64, work: &KeyTile, #[comptime] config: BwdConfig) {
    // Orders: the additions of the key block before < those of this one.
    await_count(count, work.key / comptime!(config.block_n()));
    // Lanes may have seen it at different times.
    sync_warp();
}

/// Lets the next keys add to the warp's sums. It waits until this warp's additions are seen by all, which takes
/// hundreds of cycles even if they have long ended: products should run meanwhile.
#[cube]
pub(crate) fn pass_turn(count: u64, work: &KeyTile, #[comptime] config: BwdConfig) {
    // Orders: all lanes' additions < the count.
    sync_warp();
    if unit_position().is_multiple_of(WARP) {
        set_count(count, work.key / comptime!(config.block_n()) + 1);
    }
}
