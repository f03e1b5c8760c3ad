//! Whose turn it is to add to sums that cubes share, block after block.
//!
//! The sums of a block have a count in global memory: of the cubes that have added theirs. A cube's turn has come
//! when it is the cube's own number. One thread keeps the turns of a cube's warps: it waits for other cubes, and lets
//! them wait, while the warps go on. Whom it waits for must run or have ended: its number must be one of a cube that starts
//! earlier.

use crate::config::WARP;
use crate::copy::atom::sync_warp;
use crate::copy::barrier::{MBARRIER_BYTES, SharedBarrier};
use crate::tensor::address::unit_position;
use crate::tensor::gmem::{await_count, set_count};
use cubecl::prelude::*;

/// Bytes of the two barriers.
pub(crate) const TURN_BYTES: u32 = 2 * MBARRIER_BYTES;

/// The turns of some of a cube's warps.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Turns {
    /// Ends a phase when a turn has come.
    come: SharedBarrier,
    /// Ends a phase when all warps have added.
    added: SharedBarrier,
    /// How many take their turn together.
    #[cube(comptime)]
    warps: u32,
}

#[cube]
impl Turns {
    /// Those of `warps` warps, with barriers at shared address `barriers`.
    pub fn new(barriers: u32, #[comptime] warps: u32) -> Turns {
        Turns {
            come: SharedBarrier {
                address: barriers,
                offset: 0u32,
            },
            added: SharedBarrier {
                address: barriers,
                offset: MBARRIER_BYTES,
            },
            warps,
        }
    }

    /// Starts the barriers' first phases; one thread does it.
    pub fn open(&self) {
        self.come.open(1u32);
        self.added.open(comptime!(self.warps));
    }

    /// Waits for the turn at the `t`-th block.
    pub fn take(&self, t: u32) {
        // Orders: the additions of earlier cubes < those of this warp.
        self.come.wait(t % 2);
    }

    /// Says that this warp has added.
    pub fn end(&self) {
        // Orders: all lanes' additions < the arrival.
        sync_warp();
        if unit_position().is_multiple_of(WARP) {
            // Orders: this warp's additions < the count.
            self.added.arrive();
        }
    }

    /// Keeps the turn at the `t`-th block, whose count at global address `count` is `number` when it comes.
    pub fn keep(&self, t: u32, count: u64, number: u32) {
        // Orders: the additions of earlier cubes < the arrival.
        await_count(count, number);
        self.come.arrive();
        self.added.wait(t % 2);
        // Orders: the additions of all warps < those of later cubes.
        set_count(count, number + 1);
    }
}
