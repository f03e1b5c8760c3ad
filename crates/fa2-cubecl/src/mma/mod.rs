//! MULTIPLY: the tensor-core atoms, accumulators and the two products of attention, by one warp and by
//! four.

pub(crate) mod accumulator;
pub(crate) mod atom;
pub(crate) mod gemm;
pub(crate) mod warpgroup;
