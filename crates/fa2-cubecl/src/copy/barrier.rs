//! A barrier in shared memory: who has copied or read arrives at it, and who needs that waits.

use cubecl::prelude::*;
use cubecl_ptx::mbarrier::{mbarrier_arrive, mbarrier_expect, mbarrier_init, mbarrier_wait};

pub(crate) use cubecl_ptx::mbarrier::{MBARRIER_BYTES, mbarrier_init_fence};

/// A barrier; see [`cubecl_ptx::mbarrier`] for its phases. Needs SM90.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct SharedBarrier {
    /// Its shared address, less `offset`.
    pub address: u32,
    #[cube(comptime)]
    pub offset: u32,
}

#[cube]
impl SharedBarrier {
    /// Starts the first phase; each ends after `arrivals`. One thread does it, and
    /// [`mbarrier_init_fence()`] and a barrier of the cube must follow.
    pub fn open(&self, #[comptime] arrivals: u32) {
        mbarrier_init(self.address, comptime!(self.offset), arrivals);
    }

    /// Arrives, and lets the phase wait for `bytes` of copies more.
    pub fn expect(&self, #[comptime] bytes: u32) {
        mbarrier_expect(self.address, comptime!(self.offset), bytes);
    }

    /// Arrives.
    pub fn arrive(&self) {
        mbarrier_arrive(self.address, comptime!(self.offset));
    }

    /// Waits until the phase of parity `parity` has ended.
    pub fn wait(&self, parity: u32) {
        mbarrier_wait(self.address, comptime!(self.offset), parity);
    }
}
