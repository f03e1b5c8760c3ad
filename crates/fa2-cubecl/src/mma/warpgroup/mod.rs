//! MULTIPLY by four warps at once: operands in shared memory, products that run beside the code.

pub(crate) mod atom;
pub(crate) mod gemm;
pub(crate) mod operand;
