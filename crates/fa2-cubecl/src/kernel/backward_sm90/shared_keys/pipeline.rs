//! Who waits for whom where two warpgroups share keys.
//!
//! A stage of the ring holds a block of Q, its row terms, and its block of dO. dV is done with dO before dK is with Q,
//! so the two sides have [`Stages`] of their own. Q's last reader is who sums up dK: the other warpgroup has read Q and
//! the terms before it publishes dS. dO has two last readers, dP of one warpgroup and dV of the other.
//!
//! P and dS of a block lie in a tile of the warpgroup that has it, and one [`Gradient`] reads both tiles of P
//! or of dS. Of each pair of tiles two named barriers keep count, at which one warpgroup waits and the other
//! arrives:
//!
//! - *written*: the reader waits until the other has stored its tile.
//! - *read*: the other waits until the reader has read its tile of the block before.

use crate::config::WARP;
use crate::config::backward::{BwdConfig, QuerySums};
use crate::copy::atom::g2s_bytes;
use crate::copy::barrier::{MBARRIER_BYTES, SharedBarrier, mbarrier_init_fence};
use crate::copy::tma::{TileOrigin, copy_tile};
use crate::kernel::backward_sm90::shared_keys::roles::{Gradient, Scores, Side};
use crate::pipeline::stages::{StageForm, Stages};
use crate::pipeline::turns::{TURN_BYTES, Turns};
use crate::tensor::address::unit_position;
use crate::tensor::map::Maps;
use cubecl::prelude::*;
use cubecl_ptx::barrier::{barrier_arrive, barrier_sync};
use cubecl_ptx::proxy::fence_shared_async;

/// Offset of the barrier of K and V.
const KEYS: u32 = 0;
/// First of the named barriers of P and dS; 0 is the cube's, 1 that of the threads that compute.
const SCORES_BARRIER: u32 = 2;

impl Scores {
    const fn written(self) -> u32 {
        match self {
            Self::P => SCORES_BARRIER,
            Self::Ds => SCORES_BARRIER + 2,
        }
    }

    const fn read(self) -> u32 {
        self.written() + 1
    }
}

impl BwdConfig {
    /// The barriers of a side's stages.
    const fn side_stages(&self, side: Side) -> StageForm {
        let warps = self.threads() / WARP;
        let (full, readers) = match side {
            Side::Queries => (KEYS + MBARRIER_BYTES, warps / 2),
            Side::Outputs => (self.side_stages(Side::Queries).end(), warps),
        };
        StageForm {
            full,
            stages: self.stages(),
            readers,
        }
    }

    /// Offset of the barriers of the turns of the warpgroup that sums up `gradient`, where key blocks add in order.
    const fn turns_of(&self, gradient: Gradient) -> u32 {
        self.side_stages(Side::Outputs).end() + gradient.index() * TURN_BYTES
    }

    /// Bytes of all barriers.
    const fn barriers_end(&self) -> u32 {
        let turns = match self.query_sums() {
            QuerySums::Ordered => 2 * TURN_BYTES,
            QuerySums::Atomic | QuerySums::Owned => 0,
        };
        self.turns_of(Gradient::Keys) + turns
    }

    /// From a stage to a side's tile in it.
    pub(crate) const fn side_offset(&self, side: Side) -> u32 {
        match side {
            Side::Queries => 0,
            Side::Outputs => self.q_bytes(),
        }
    }
}

/// The shared memory of a cube: tiles, stages and barriers.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct BlockRing {
    /// Its shared address: K's tile is the first.
    pub shared: u32,
    #[cube(comptime)]
    pub config: BwdConfig,
}

#[cube]
impl BlockRing {
    /// The ring at shared address `shared`.
    pub fn new(shared: u32, #[comptime] config: BwdConfig) -> BlockRing {
        comptime!(assert!(
            config.barriers_end() <= config.barrier_bytes(),
            "BlockRing: the barriers must fit behind the row terms"
        ));
        BlockRing { shared, config }
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

    /// Who waits for whom at the stages of `side`.
    pub fn stages(&self, #[comptime] side: Side) -> Stages {
        Stages::new(self.barriers(), comptime!(self.config.side_stages(side)))
    }

    /// Shared address of the row terms of the block in `stage`.
    pub fn terms(&self, stage: u32) -> u32 {
        self.shared
            + comptime!(self.config.terms_offset())
            + stage * comptime!(self.config.term_bytes())
    }

    /// Starts the barriers' first phases.
    pub fn open(&self) {
        if unit_position() == 0 {
            // K and V are copied by a thread each.
            self.keys().open(2u32);
            self.stages(Side::Queries).open();
            self.stages(Side::Outputs).open();
            if comptime!(self.config.query_sums() == QuerySums::Ordered) {
                self.turns(Gradient::Keys).open();
                self.turns(Gradient::Values).open();
            }
            mbarrier_init_fence();
        }
        // Orders: the initialisation of the barriers < every use of them.
        sync_cube();
    }

    /// The turns of the warps of the warpgroup that sums up `gradient`.
    pub fn turns(&self, #[comptime] gradient: Gradient) -> Turns {
        let config = comptime!(self.config);
        Turns::new(
            self.barriers() + comptime!(config.turns_of(gradient)),
            comptime!(config.threads() / WARP / 2),
        )
    }

    /// Starts the copy of `side`'s share of the keys: K or V.
    pub fn fill_keys(&self, maps: &Maps, from: &TileOrigin, #[comptime] side: Side) {
        let config = comptime!(self.config);
        let (tile, bytes) = comptime!((config.kv_tile(), config.kv_bytes()));
        let keys = self.keys();
        keys.expect(bytes);
        if comptime!(side == Side::Queries) {
            copy_tile(maps.k(), from, self.shared, &keys, tile);
        } else {
            copy_tile(maps.v(), from, self.shared + bytes, &keys, tile);
        }
    }

    /// Starts the copies of a block's share of `side` into the empty `stage`: Q and the row terms at global
    /// address `terms`, or dO.
    pub fn fill(
        &self,
        maps: &Maps,
        from: &TileOrigin,
        terms: u64,
        stage: u32,
        #[comptime] side: Side,
    ) {
        let config = comptime!(self.config);
        let (tile, bytes) = comptime!((config.q_tile(), config.q_bytes()));
        let full = self.stages(side).full(stage);
        let target = self.shared
            + comptime!(config.stages_offset() + config.side_offset(side))
            + stage * comptime!(config.stage_bytes());
        if comptime!(side == Side::Queries) {
            let term_bytes = comptime!(config.term_bytes());
            full.expect(comptime!(bytes + term_bytes));
            copy_tile(maps.q(), from, target, &full, tile);
            g2s_bytes(terms, self.terms(stage), term_bytes, &full);
        } else {
            full.expect(bytes);
            copy_tile(maps.d_o(), from, target, &full, tile);
        }
    }

    /// Waits for K and V.
    pub fn wait_keys(&self) {
        // Orders: the copies of K and V < their reads by products.
        self.keys().wait(0u32);
    }

    /// Before the first block: the reader of `scores` has nothing to read.
    pub fn open_tiles(&self, #[comptime] scores: Scores, #[comptime] gradient: Gradient) {
        self.leave(scores, gradient);
    }

    /// Waits until this warpgroup's tile of `scores` may be written.
    pub fn claim(&self, #[comptime] scores: Scores, #[comptime] gradient: Gradient) {
        if comptime!(gradient != scores.reader()) {
            let id = u32::new(comptime!(scores.read() as i64));
            // Orders: the reader's products of the block before < the stores over their operand.
            barrier_sync(id, comptime!(self.config.threads()));
        }
    }

    /// Makes this warpgroup's tile of `scores` readable; for the reader, both.
    pub fn publish(&self, #[comptime] scores: Scores, #[comptime] gradient: Gradient) {
        fence_shared_async();
        let id = u32::new(comptime!(scores.written() as i64));
        let threads = comptime!(self.config.threads());
        // Orders: the stores of both warpgroups < the reader's products.
        if comptime!(gradient == scores.reader()) {
            barrier_sync(id, threads);
        } else {
            barrier_arrive(id, threads);
        }
    }

    /// Gives the other warpgroup's tile of `scores` back, if this one is the reader.
    pub fn leave(&self, #[comptime] scores: Scores, #[comptime] gradient: Gradient) {
        if comptime!(gradient == scores.reader()) {
            let id = u32::new(comptime!(scores.read() as i64));
            // Orders: this warpgroup's products < the other's stores over their operand.
            barrier_arrive(id, comptime!(self.config.threads()));
        }
    }
}
