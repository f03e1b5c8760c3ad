//! Reductions over a row: the four lanes of one g own it, so two exchanges suffice (claim L7).

use crate::softmax::atom::{max, shuffle_xor};
use cubecl::prelude::*;

/// Largest `x` of the four lanes that own a row.
#[cube]
pub(crate) fn quad_max(x: f32) -> f32 {
    let y = max(x, shuffle_xor(x, 1u32));
    max(y, shuffle_xor(y, 2u32))
}

/// Sum of `x` over the four lanes that own a row.
#[cube]
pub(crate) fn quad_sum(x: f32) -> f32 {
    let y = x + shuffle_xor(x, 1u32);
    y + shuffle_xor(y, 2u32)
}
