//! `mma.sync.aligned.m16n8k16.row.col` with f32 accumulators: D = A B + C.
//!
//! The products of two 16-bit floats are exact in f32. The ISA leaves the order and the precision of
//! the sum open (it asks for at least single precision); here each element starts from C and adds
//! its sixteen products in the order of k, each addition rounded to nearest in f32. Hardware differs
//! in the last bits unless every partial sum is exact.

#[cfg(test)]
mod tests;

use half::{bf16, f16};

use crate::{
    alu::{LANES, Lanes},
    fragment::{mma_a, mma_b, mma_c},
    module::ScalarType,
};

const M: usize = 16;
const N: usize = 8;
const K: usize = 16;

/// D = A B + C of the fragments that a warp's registers hold; `element` is the type of A and B,
/// [`ScalarType::Bf16`], or f16 for any other.
pub fn multiply(element: ScalarType, a: &[Lanes; 4], b: &[Lanes; 2], c: &[Lanes; 4]) -> [Lanes; 4] {
    let widen: fn(u16) -> f32 = match element {
        ScalarType::Bf16 => |bits| bf16::from_bits(bits).to_f32(),
        _ => widen_half,
    };
    let mut left = [[0.0f32; K]; M];
    let mut right = [[0.0f32; N]; K];
    let mut sum = [[0.0f32; N]; M];
    for lane in 0..LANES {
        for index in 0..8 {
            let place = mma_a(lane, index);
            left[place.row][place.column] =
                widen((a[index / 2][lane] >> (16 * (index % 2))) as u16);
        }
        for index in 0..4 {
            let place = mma_b(lane, index);
            right[place.row][place.column] =
                widen((b[index / 2][lane] >> (16 * (index % 2))) as u16);
            let place = mma_c(lane, index);
            sum[place.row][place.column] = f32::from_bits(c[index][lane] as u32);
        }
    }
    for (row, factors) in sum.iter_mut().zip(&left) {
        for (factor, columns) in factors.iter().zip(&right) {
            for (total, column) in row.iter_mut().zip(columns) {
                *total += factor * column;
            }
        }
    }
    let mut d = [[0; LANES]; 4];
    for lane in 0..LANES {
        for (index, register) in d.iter_mut().enumerate() {
            let place = mma_c(lane, index);
            register[lane] = canonical(sum[place.row][place.column]);
        }
    }
    d
}

fn canonical(value: f32) -> u64 {
    if value.is_nan() {
        0x7FFF_FFFF
    } else {
        value.to_bits().into()
    }
}

/// f16 to f32 without a branch: the bits in f32's place are the value times 2^-112, and infinities and
/// NaN keep their exponent of all ones.
fn widen_half(bits: u16) -> f32 {
    /// 2^112.
    const SCALE: f32 = f32::from_bits((112 + 127) << 23);
    if bits & 0x7C00 == 0x7C00 {
        return f16::from_bits(bits).to_f32();
    }
    let magnitude = f32::from_bits(u32::from(bits & 0x7FFF) << 13) * SCALE;
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}
