//! Who waits for whom: works and their Q, the ring of K and V blocks, and the turns of the warpgroups.
//!
//! Each of K and V has `stages` tiles, used in turn (see [`Place`]). Of each tile two barriers in shared
//! memory keep count:
//!
//! - *full*: ends a phase when the copy has arrived. Use u is complete when phase u has ended, which has
//!   parity `u mod 2`.
//! - *empty*: ends a phase when all computing warps have read the tile. The copy of use u waits for the
//!   end of phase u - 1; for use 0, parity 1 stands for the phase before the first, which has ended.
//!
//! Q has one tile with two such barriers, and the number of the work comes with it. One beyond the last ends
//! the loops.
//!
//! A named barrier for each warpgroup gives turns: it opens when the warpgroup waits for it and all the
//! others have passed their turn on.

use crate::config::WARP;
use crate::config::sm90::{FwdSm90Config, Turns};
use crate::copy::atom::{r2s, s2r_word, sync_warp};
use crate::copy::tma::{TileOrigin, copy_tile};
use crate::pipeline::place::Place;
use crate::tensor::address::unit_position;
use cubecl::prelude::*;
use cubecl_ptx::barrier::{barrier_arrive, barrier_sync};
use cubecl_ptx::mbarrier::{
    MBARRIER_BYTES, mbarrier_arrive, mbarrier_expect, mbarrier_init, mbarrier_init_fence,
    mbarrier_wait,
};

/// First of the named barriers that give turns; 0 is the cube's.
const TURN_BARRIER: u32 = 1;

/// K or V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// Keys.
    K,
    /// Values.
    V,
}

/// That Q's tile is full, and the number of the work is there.
const Q_FULL: u32 = 0;
/// That both were read.
const Q_EMPTY: u32 = MBARRIER_BYTES;
/// Barriers of Q.
const Q_BARRIERS: u32 = 2;

/// Offsets of the barriers of a kernel with `stages` tiles of K and of V, from Q's, which are the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BarrierLayout {
    stages: u32,
}

impl BarrierLayout {
    /// The number of the work, behind all of them.
    const fn work(self) -> u32 {
        (Q_BARRIERS + 4 * self.stages) * MBARRIER_BYTES
    }

    /// Bytes of all of them and of the number.
    pub(crate) const fn bytes(self) -> u32 {
        self.work() + 4
    }

    /// The barrier that `side`'s first tile is full; those of the other tiles follow.
    const fn full(self, side: Side) -> u32 {
        let group = match side {
            Side::K => 0,
            Side::V => 2,
        };
        (Q_BARRIERS + group * self.stages) * MBARRIER_BYTES
    }

    /// The barrier that `side`'s first tile is empty; those of the other tiles follow.
    const fn empty(self, side: Side) -> u32 {
        self.full(side) + self.stages * MBARRIER_BYTES
    }
}

impl FwdSm90Config {
    /// Where the barriers lie behind the tiles.
    pub(crate) const fn barriers(&self) -> BarrierLayout {
        BarrierLayout {
            stages: self.stages(),
        }
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
            config.barriers().bytes() <= room,
            "Ring: the barriers must fit behind the tiles"
        ));
        Ring {
            q: shared,
            barriers: shared + comptime!(config.tile_bytes()),
            config,
        }
    }

    /// Starts the barriers' first phases.
    pub fn open(&self) {
        if unit_position() == 0 {
            mbarrier_init(self.barriers, Q_FULL, 1u32);
            let warps = comptime!(self.config.computing_threads() / WARP);
            mbarrier_init(self.barriers, Q_EMPTY, warps);
            self.open_side(Side::K);
            self.open_side(Side::V);
            mbarrier_init_fence();
        }
        // Orders: the initialisation of the barriers < every use of them.
        sync_cube();
    }

    fn open_side(&self, #[comptime] side: Side) {
        let config = comptime!(self.config);
        // One arrival a warp.
        let warps = comptime!(config.computing_threads() / WARP);
        #[unroll]
        for tile in 0..comptime!(config.stages()) {
            let offset = comptime!(tile * MBARRIER_BYTES);
            let full = comptime!(config.barriers().full(side) + offset);
            let empty = comptime!(config.barriers().empty(side) + offset);
            mbarrier_init(self.barriers, full, 1u32);
            mbarrier_init(self.barriers, empty, warps);
        }
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
        // Orders: all reads of the last work's number and Q < the writes of this one's over them.
        mbarrier_wait(self.barriers, Q_EMPTY, place.parity[0]);
        r2s(
            self.barriers,
            comptime!(self.config.barriers().work()),
            work,
        );
    }

    /// Ends the announcement of a work that reads no Q.
    pub fn no_q(&self) {
        // Orders: the number of the work < its reads.
        mbarrier_arrive(self.barriers, Q_FULL);
    }

    /// Starts the copy of Q.
    pub fn fill_q(&self, map: u64, from: &TileOrigin) {
        let config = comptime!(self.config);
        // Orders: the number of the work < its reads.
        mbarrier_expect(self.barriers, Q_FULL, comptime!(config.q_bytes()));
        copy_tile(
            map,
            from,
            self.q,
            self.barriers,
            Q_FULL,
            comptime!(config.q_tile()),
        );
    }

    /// Starts the copy of a block of `side` once its tile is empty.
    pub fn fill(&self, map: u64, from: &TileOrigin, place: &Place, #[comptime] side: Side) {
        let config = comptime!(self.config);
        let full = comptime!(config.barriers().full(side));
        let barrier = self.barriers + place.tile[0] * MBARRIER_BYTES;
        // Orders: all reads of the tile's last block < the copy of this one over it.
        mbarrier_wait(
            barrier,
            comptime!(config.barriers().empty(side)),
            place.parity[0],
        );
        mbarrier_expect(barrier, full, comptime!(config.kv_bytes()));
        copy_tile(
            map,
            from,
            self.tiles(side) + place.offset(comptime!(config.kv_bytes())),
            barrier,
            full,
            comptime!(config.kv_tile()),
        );
    }

    /// Waits for the next work and its Q: the number of the work.
    pub fn next_work(&self, place: &Place) -> u32 {
        // Orders: the number and the copy of Q < their reads.
        mbarrier_wait(self.barriers, Q_FULL, place.parity[0]);
        s2r_word(self.barriers, comptime!(self.config.barriers().work()))
    }

    /// Gives Q's tile and the number back: this warp has read both.
    pub fn release_q(&self) {
        // Orders: all lanes' reads of the number < the arrival.
        sync_warp();
        if unit_position().is_multiple_of(WARP) {
            // Orders: this warp's reads of Q and the number < their successors over them.
            mbarrier_arrive(self.barriers, Q_EMPTY);
        }
    }

    /// Waits for the block of `side` at `place`.
    pub fn wait(&self, place: &Place, #[comptime] side: Side) {
        let full = comptime!(self.config.barriers().full(side));
        // Orders: the copy of the block < its reads by products.
        mbarrier_wait(
            self.barriers + place.tile[0] * MBARRIER_BYTES,
            full,
            place.parity[0],
        );
    }

    /// Gives the block of `side` at `place` back: this warp's products have read it.
    pub fn release(&self, place: &Place, #[comptime] side: Side) {
        let empty = comptime!(self.config.barriers().empty(side));
        if unit_position().is_multiple_of(WARP) {
            // Orders: this warp's reads of the block < the copy of a later one over it.
            mbarrier_arrive(self.barriers + place.tile[0] * MBARRIER_BYTES, empty);
        }
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
