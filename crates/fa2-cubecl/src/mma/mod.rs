//! MULTIPLY: the tensor-core atom, accumulators and the two products of attention.

pub(crate) mod accumulator;
pub(crate) mod atom;
pub(crate) mod gemm;
