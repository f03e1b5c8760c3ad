//! Where memory begins, and where a unit stands: addresses in bytes, and positions.

use crate::config::sm90::WARPGROUP;
use cubecl::prelude::*;
use cubecl_ptx::shuffle::{uniform, uniform_register};

pub(crate) use cubecl_ptx::address::{global_address, global_address_mut, shared_address};
pub(crate) use cubecl_ptx::topology::{
    cube_count, cube_position, mark_branch, opaque, unit_position,
};

/// Alignment of a cube's shared memory: a period of the widest swizzle.
pub(crate) const SHARED_ALIGNMENT: usize = 1024;

/// The warpgroup of this unit in its cube; the same register for a whole warp.
#[cube]
pub(crate) fn warpgroup_index() -> u32 {
    uniform_register(unit_position() / WARPGROUP)
}

/// [`warpgroup_index()`] in a register of each lane.
#[cube]
pub(crate) fn warpgroup_index_in_lanes() -> u32 {
    uniform(unit_position() / WARPGROUP)
}
