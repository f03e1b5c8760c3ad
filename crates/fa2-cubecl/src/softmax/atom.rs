//! The arithmetic atoms of softmax: approximations and fused operations in f32.

pub(crate) use cubecl_ptx::math::{exp2_approx, fma, log2_approx, max, reciprocal_approx};
pub(crate) use cubecl_ptx::shuffle::{any_above, shuffle_xor};
