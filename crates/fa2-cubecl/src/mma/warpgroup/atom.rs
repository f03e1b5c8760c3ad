//! The multiply atom m64nNk16 of SM90, and the groups that its products are waited for in.

use crate::mma::accumulator::Accumulator;
use crate::tensor::map::shared_swizzle;
use cubecl::prelude::*;
use cubecl_ptx::wgmma::{Major as PtxMajor, pin_accumulators, wait_products};
use cute_layout::GmmaOperand;

pub(crate) use cubecl_ptx::wgmma::{
    DESCRIPTOR_UNIT, Product, SharedMatrix, Start, WGMMA_K, commit_products, fence_products,
    multiply_registers, multiply_shared, wait_operands,
};
pub(crate) use cute_layout::Major;

/// What an instruction is told of `operand`, but for where it starts.
pub(crate) const fn shared_matrix(operand: GmmaOperand) -> SharedMatrix {
    let descriptor = operand.descriptor(0);
    let (major, leading_bytes) = match operand.major() {
        Major::K => (PtxMajor::K, descriptor.leading_byte_offset),
        // CuTe has 0 for a lone atom. No instruction looks for its neighbour, so its size does as well, and
        // is what the measured kernels have.
        Major::Mn => (PtxMajor::Mn, operand.tile().atom_bytes()),
    };
    SharedMatrix {
        swizzle: shared_swizzle(descriptor.swizzle),
        major,
        leading_bytes: leading_bytes as u32,
        stride_bytes: descriptor.stride_byte_offset as u32,
    }
}

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
