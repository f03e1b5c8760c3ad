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
//! Where key blocks add to dQ in order, the sums of a query block have a count in global memory: of the key blocks
//! that have added theirs. A cube's turn has come when it is the number of key blocks before its own, all of which
//! see the query block too ([`Turns`]). Cubes start in the order of their numbers, and those of earlier keys have
//! lower ones, so who waits does so for cubes that run.

use crate::config::WARP;
use crate::config::backward::{BwdConfig, Loads, QuerySums};
use crate::copy::atom::{g2s_bytes, sync_warp};
use crate::copy::tma::{TileOrigin, copy_tile};
use crate::kernel::backward::pipeline::sync_computing;
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

    /// Offset of the barriers of turns.
    const fn turns(&self) -> u32 {
        self.empty() + self.stages() * MBARRIER_BYTES
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
            config.turns() + TURN_BYTES <= config.barrier_bytes(),
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

    /// The turns of the warps that compute.
    pub fn turns(&self) -> Turns {
        let config = comptime!(self.config);
        Turns::new(
            self.barriers() + comptime!(config.turns()),
            comptime!(config.threads() / WARP),
        )
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
            if comptime!(config.query_sums() == QuerySums::Ordered) {
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

/// Whose turn it is to add to the sums of dQ, for some of a cube's warps and block after block. One thread keeps
/// their turns: it waits for other cubes, and lets them wait, while the warps go on.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Turns {
    /// Shared address of the two barriers.
    barriers: u32,
    /// How many take their turn together.
    #[cube(comptime)]
    warps: u32,
}

/// Offset of the barrier that a turn has come.
const COME: u32 = 0;
/// Offset of the barrier that all warps have added.
const ADDED: u32 = COME + MBARRIER_BYTES;
/// Bytes of both.
pub(crate) const TURN_BYTES: u32 = ADDED + MBARRIER_BYTES;

#[cube]
impl Turns {
    /// Those of `warps` warps, with barriers at shared address `barriers`.
    pub fn new(barriers: u32, #[comptime] warps: u32) -> Turns {
        Turns { barriers, warps }
    }

    /// Starts the barriers' first phases; one thread does it.
    pub fn open(&self) {
        mbarrier_init(self.barriers, COME, 1u32);
        mbarrier_init(self.barriers, ADDED, comptime!(self.warps));
    }

    /// Waits for the turn at the `t`-th block.
    pub fn take(&self, t: u32) {
        // Orders: the additions of earlier keys < those of this warp.
        mbarrier_wait(self.barriers, COME, t % 2);
    }

    /// Says that this warp has added.
    pub fn end(&self) {
        // Orders: all lanes' additions < the arrival.
        sync_warp();
        if unit_position().is_multiple_of(WARP) {
            // Orders: this warp's additions < the count.
            mbarrier_arrive(self.barriers, ADDED);
        }
    }

    /// Keeps the turn at the `t`-th block, whose count at global address `count` is `number` when it comes.
    pub fn keep(&self, t: u32, count: u64, number: u32) {
        // Orders: the additions of earlier keys < the arrival.
        await_count(count, number);
        mbarrier_arrive(self.barriers, COME);
        mbarrier_wait(self.barriers, ADDED, t % 2);
        // Orders: the additions of all warps < those of later keys.
        set_count(count, number + 1);
    }
}
