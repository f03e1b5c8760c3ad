//! The multiply atom m64nNk16 of SM90, and the groups that its products are waited for in.

use crate::mma::accumulator::Accumulator;
use cubecl::prelude::*;
use cubecl_ptx::wgmma::{pin_accumulators, wait_products};

pub(crate) use cubecl_ptx::wgmma::{
    DESCRIPTOR_UNIT, Major, Product, SharedMatrix, SharedSwizzle, Start, WGMMA_K, commit_products,
    fence_products, multiply_registers, multiply_shared,
};

/// Waits until at most `pending` groups are running; `acc` belongs to one that has ended then.
#[cube]
pub(crate) fn wait(acc: &mut Accumulator, #[comptime] pending: u32) {
    wait_products(&mut acc.values, comptime!(acc.layout.len()), pending);
}

/// Keeps what was done to `acc` before this point, and what is done later after it.
#[cube]
pub(crate) fn pin(acc: &mut Accumulator) {
    pin_accumulators(&mut acc.values, comptime!(acc.layout.len()));
}
