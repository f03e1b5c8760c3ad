//! A ring of stages in shared memory: who fills a stage waits until it is empty, who reads it until it is full.
//!
//! Stages are used in turn (see [`Place`]). Of each, two barriers in shared memory keep count:
//!
//! - *full*: ends a phase when what fills the stage has arrived. Use u is complete when phase u has ended, which
//!   has parity `u mod 2`.
//! - *empty*: ends a phase when all who read the stage have. The copies of use u wait for the end of phase
//!   u - 1; for use 0, parity 1 stands for the phase before the first, which has ended.

use crate::config::WARP;
use crate::copy::barrier::{MBARRIER_BYTES, SharedBarrier};
use crate::pipeline::place::Place;
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// The barriers of a ring: where they lie among the cube's, and how many arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StageForm {
    /// Offset of the barrier that the first stage is full; those of the other stages follow.
    pub full: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Warps that read a stage: each arrives once.
    pub readers: u32,
}

impl StageForm {
    /// The same of the barriers that stages are empty.
    const fn empty(self) -> u32 {
        self.full + self.stages * MBARRIER_BYTES
    }

    /// Offset of what lies behind the barriers.
    pub(crate) const fn end(self) -> u32 {
        self.empty() + self.stages * MBARRIER_BYTES
    }
}

/// Who waits for whom at the stages of a ring.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Stages {
    /// Shared address of the cube's barriers.
    barriers: u32,
    #[cube(comptime)]
    form: StageForm,
}

#[cube]
impl Stages {
    /// Those of `form` among the barriers at shared address `barriers`.
    pub fn new(barriers: u32, #[comptime] form: StageForm) -> Stages {
        Stages { barriers, form }
    }

    /// Starts the barriers' first phases; one thread does it.
    pub fn open(&self) {
        #[unroll]
        for stage in 0..comptime!(self.form.stages) {
            let offset = comptime!(stage * MBARRIER_BYTES);
            let full = self.barrier(0u32, comptime!(self.form.full + offset));
            full.open(1u32);
            let empty = self.barrier(0u32, comptime!(self.form.empty() + offset));
            empty.open(comptime!(self.form.readers));
        }
    }

    /// The barrier that `stage` is full, at which its copies arrive.
    pub fn full(&self, stage: u32) -> SharedBarrier {
        self.barrier(stage, comptime!(self.form.full))
    }

    fn empty(&self, stage: u32) -> SharedBarrier {
        self.barrier(stage, comptime!(self.form.empty()))
    }

    fn barrier(&self, stage: u32, #[comptime] offset: u32) -> SharedBarrier {
        SharedBarrier {
            address: self.barriers + stage * MBARRIER_BYTES,
            offset,
        }
    }

    /// Waits until the stage of `place` may be filled.
    pub fn wait_empty(&self, place: &Place) {
        // Orders: all reads of the stage's last use < the writes of this one over it.
        self.empty(place.tile[0]).wait(place.parity[0]);
    }

    /// Waits for what the stage of `place` is filled with.
    pub fn wait_full(&self, place: &Place) {
        // Orders: the writes of the stage < its reads by products and loads.
        self.full(place.tile[0]).wait(place.parity[0]);
    }

    /// Gives `stage` back: this warp has read it.
    pub fn release(&self, stage: u32) {
        if unit_position().is_multiple_of(WARP) {
            // Orders: this warp's reads of the stage < the writes of a later use over it.
            self.empty(stage).arrive();
        }
    }
}
