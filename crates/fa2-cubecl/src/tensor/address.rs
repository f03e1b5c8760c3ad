//! Where memory begins, and where a unit stands: addresses in bytes, and positions.

pub(crate) use cubecl_ptx::address::{global_address, global_address_mut, shared_address};
pub(crate) use cubecl_ptx::topology::{cube_position, mark_branch, opaque, unit_position};

/// Alignment of a cube's shared memory: a period of the widest swizzle.
pub(crate) const SHARED_ALIGNMENT: usize = 1024;
