//! The multiply atom m16n8k16: four accumulators of a lane, in place.

use crate::mma::accumulator::Accumulator;
use crate::problem::Dtype;
use cubecl::prelude::*;
use cubecl_ptx::convert::{pack_half2, unpack_half2};
use cubecl_ptx::math::fma;
use cubecl_ptx::matrix::{Accumulator4, HalfType, mma_m16n8k16};

pub(crate) use cubecl_ptx::matrix::{Registers2, Registers4};

/// The instruction's element type.
pub(crate) const fn half_type(dtype: Dtype) -> HalfType {
    match dtype {
        Dtype::F16 => HalfType::F16,
        Dtype::Bf16 => HalfType::Bf16,
    }
}

/// Adds `a b` to the atom (m, n) of `acc`.
#[cube]
pub(crate) fn multiply_add(
    acc: &mut Accumulator,
    a: &Registers4,
    b: &Registers2,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[comptime] dtype: Dtype,
) {
    let first = comptime!(acc.layout.index(0, 0, m, n));
    let c = Accumulator4 {
        x: acc.values[first],
        y: acc.values[comptime!(first + 1)],
        z: acc.values[comptime!(first + 2)],
        w: acc.values[comptime!(first + 3)],
    };
    let d = mma_m16n8k16(a, b, &c, comptime!(half_type(dtype)));
    acc.values[first] = d.x;
    acc.values[comptime!(first + 1)] = d.y;
    acc.values[comptime!(first + 2)] = d.z;
    acc.values[comptime!(first + 3)] = d.w;
}

/// Rounds two neighbours of a row to one 32-bit register of 16-bit elements.
#[cube]
pub(crate) fn round_pair(low: f32, high: f32, #[comptime] dtype: Dtype) -> u32 {
    pack_half2(low, high, comptime!(half_type(dtype)))
}

/// Adds the product of two pairs of 16-bit elements to `sum`.
#[cube]
pub(crate) fn add_dot_pair(a: u32, b: u32, sum: f32, #[comptime] dtype: Dtype) -> f32 {
    let a = unpack_half2(a, comptime!(half_type(dtype)));
    let b = unpack_half2(b, comptime!(half_type(dtype)));
    fma(a.high, b.high, fma(a.low, b.low, sum))
}
