//! Who waits for whom: works and their Q, the ring of K and V blocks, and the turns of the warpgroups.
//!
//! Each of K and V has tiles that are used in turn ([`Stages`]); one is empty when all computing warps have read it.
//! Q has one such tile, and the number of the work comes with it. One beyond the last ends the loops.
//!
//! A named barrier for each warpgroup gives turns: it opens when the warpgroup waits for it and all the
//! others have passed their turn on.

use crate::config::WARP;
use crate::config::sm90::{FwdSm90Config, Turns};
use crate::copy::atom::{r2s, s2r_word, sync_warp};
use crate::copy::barrier::mbarrier_init_fence;
use crate::copy::tma::{TileOrigin, copy_tile};
use crate::pipeline::place::Place;
use crate::pipeline::stages::{StageForm, Stages};
use crate::tensor::address::unit_position;
use cubecl::prelude::*;
use cubecl_ptx::barrier::{barrier_arrive, barrier_sync};

/// First of the named barriers that give turns; 0 is the cube's.
const TURN_BARRIER: u32 = 1;
/// Bytes of the number of a work.
const WORK_BYTES: u32 = 4;

/// K or V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// Keys.
    K,
    /// Values.
    V,
}

impl FwdSm90Config {
    /// The barriers of Q's tile, the first.
    const fn q_stage(&self) -> StageForm {
        StageForm {
            full: 0,
            stages: 1,
            readers: self.computing_threads() / WARP,
        }
    }

    /// The barriers of the tiles of `side`.
    const fn side_stages(&self, side: Side) -> StageForm {
        StageForm {
            full: match side {
                Side::K => self.q_stage().end(),
                Side::V => self.side_stages(Side::K).end(),
            },
            stages: self.stages(),
            ..self.q_stage()
        }
    }

    /// Offset of the number of the work, behind all barriers.
    const fn work_offset(&self) -> u32 {
        self.side_stages(Side::V).end()
    }

    /// Bytes of all barriers and of the number.
    pub(crate) const fn barriers_end(&self) -> u32 {
        self.work_offset() + WORK_BYTES
    }
}

/// The shared memory of a cube: tiles and barriers.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Ring {
    /// Shared address of Q's tile, the first.
    pub q: u32,
    /// Shared address of the barriers.
    barriers: u32,
    #[cube(comptime)]
    config: FwdSm90Config,
}

#[cube]
impl Ring {
    /// The ring at shared address `shared`.
    pub fn new(shared: u32, #[comptime] config: FwdSm90Config) -> Ring {
        let room = comptime!(config.shared_bytes() - config.tile_bytes());
        comptime!(assert!(
            config.barriers_end() <= room,
            "Ring: the barriers must fit behind the tiles"
        ));
        Ring {
            q: shared,
            barriers: shared + comptime!(config.tile_bytes()),
            config,
        }
    }

    fn q_stage(&self) -> Stages {
        Stages::new(self.barriers, comptime!(self.config.q_stage()))
    }

    /// Who waits for whom at the tiles of `side`.
    pub fn stages(&self, #[comptime] side: Side) -> Stages {
        Stages::new(self.barriers, comptime!(self.config.side_stages(side)))
    }

    /// Starts the barriers' first phases.
    pub fn open(&self) {
        if unit_position() == 0 {
            self.q_stage().open();
            self.stages(Side::K).open();
            self.stages(Side::V).open();
            mbarrier_init_fence();
        }
        // Orders: the initialisation of the barriers < every use of them.
        sync_cube();
    }

    /// Shared address of the first tile of `side`.
    pub fn tiles(&self, #[comptime] side: Side) -> u32 {
        let config = comptime!(self.config);
        self.q
            + comptime!(match side {
                Side::K => config.q_bytes(),
                Side::V => config.q_bytes() + config.stages() * config.kv_bytes(),
            })
    }

    /// Says that the next work is `work`, once Q's tile is empty; its Q must follow, or [`no_q`](Self::no_q).
    pub fn announce(&self, work: u32, place: &Place) {
        self.q_stage().wait_empty(place);
        r2s(self.barriers, comptime!(self.config.work_offset()), work);
    }

    /// Ends the announcement of a work that reads no Q.
    pub fn no_q(&self) {
        // Orders: the number of the work < its reads.
        self.q_stage().full(0u32).arrive();
    }

    /// Starts the copy of Q.
    pub fn fill_q(&self, map: u64, from: &TileOrigin) {
        let config = comptime!(self.config);
        let full = self.q_stage().full(0u32);
        // Orders: the number of the work < its reads.
        full.expect(comptime!(config.q_bytes()));
        copy_tile(map, from, self.q, &full, comptime!(config.q_tile()));
    }

    /// Starts the copy of a block of `side` once its tile is empty.
    pub fn fill(&self, map: u64, from: &TileOrigin, place: &Place, #[comptime] side: Side) {
        let config = comptime!(self.config);
        let (tile, bytes) = comptime!((config.kv_tile(), config.kv_bytes()));
        self.stages(side).wait_empty(place);
        let full = self.stages(side).full(place.tile[0]);
        full.expect(bytes);
        let target = self.tiles(side) + place.offset(bytes);
        copy_tile(map, from, target, &full, tile);
    }

    /// Waits for the next work and its Q: the number of the work.
    pub fn next_work(&self, place: &Place) -> u32 {
        self.q_stage().wait_full(place);
        s2r_word(self.barriers, comptime!(self.config.work_offset()))
    }

    /// Gives Q's tile and the number back: this warp has read both.
    pub fn release_q(&self) {
        // Orders: all lanes' reads of the number < the arrival.
        sync_warp();
        self.q_stage().release(0u32);
    }
}

/// Gives warpgroup 0 the first turn, and to each other one a turn after all those before it.
#[cube]
pub(crate) fn open_turns(warpgroup: u32, #[comptime] config: FwdSm90Config) {
    if comptime!(config.turns() != Turns::Free) {
        let threads = comptime!(config.computing_threads());
        #[unroll]
        for earlier in 0..comptime!(config.warpgroups() - 1) {
            if warpgroup > earlier {
                barrier_arrive(
                    u32::new(comptime!((TURN_BARRIER + earlier) as i64)),
                    threads,
                );
            }
        }
    }
}

/// Waits for this warpgroup's turn: all others have passed it on since the last one.
#[cube]
pub(crate) fn take_turn(warpgroup: u32, #[comptime] config: FwdSm90Config) {
    if comptime!(config.turns() != Turns::Free && config.warpgroups() > 1) {
        // Orders: the starts of the others' products < those of this warpgroup. No memory.
        barrier_sync(
            warpgroup + TURN_BARRIER,
            comptime!(config.computing_threads()),
        );
    }
}

/// Passes the turn on.
#[cube]
pub(crate) fn pass_turn(warpgroup: u32, #[comptime] config: FwdSm90Config) {
    if comptime!(config.turns() != Turns::Free) {
        let groups = comptime!(config.warpgroups());
        #[unroll]
        for distance in 1..groups {
            let sum = warpgroup + distance;
            let other = select(sum >= groups, sum - groups, sum);
            barrier_arrive(other + TURN_BARRIER, comptime!(config.computing_threads()));
        }
    }
}
