//! Registers that the warpgroup that loads leaves to those that compute.

use crate::config::sm90::RegisterSplit;
use cubecl::prelude::*;
use cubecl_ptx::registers::{claim_registers, release_registers};

/// Takes the registers of a thread that computes, beside a warpgroup that loads.
#[cube]
pub(crate) fn claim_computing_registers(#[comptime] split: RegisterSplit) {
    // Two warpgroups in all start with as many as a thread can have.
    if comptime!(split.warpgroups > 1) {
        claim_registers(comptime!(split.computing));
    }
}

/// Leaves the registers that a thread that loads does not need.
#[cube]
pub(crate) fn release_loading_registers(#[comptime] split: RegisterSplit) {
    if comptime!(split.warpgroups > 1) {
        release_registers(comptime!(split.loading));
    }
}
