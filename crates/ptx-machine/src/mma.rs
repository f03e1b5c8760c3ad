//! `mma.sync.aligned.m16n8k16.row.col` with f32 accumulators: D = A B + C.
//!
//! The products of two 16-bit floats are exact in f32. The ISA leaves the order and the precision of
//! the sum open (it asks for at least single precision); here each element starts from C and adds
//! its sixteen products in the order of k, each addition rounded to nearest in f32. Hardware differs
//! in the last bits unless every partial sum is exact.

#[cfg(test)]
mod tests;

use crate::{
    alu::{LANES, Lanes},
    module::ScalarType,
};

const M: usize = 16;
const N: usize = 8;
const K: usize = 16;

/// Lanes that share a row of a fragment.
const GROUP: usize = 4;
/// Rows and columns of the pieces that registers hold.
const PIECE: usize = 8;

/// D = A B + C of the fragments that a warp's registers hold; `element` is the type of A and B,
/// [`ScalarType::Bf16`], or f16 for any other.
pub fn multiply(element: ScalarType, a: &[Lanes; 4], b: &[Lanes; 2], c: &[Lanes; 4]) -> [Lanes; 4] {
    match element {
        ScalarType::Bf16 => product(widen_brain, a, b, c),
        _ => product(widen_half, a, b, c),
    }
}

/// The product, with `widen` known when it is compiled: its loops become vectors.
///
/// A register of A holds a piece of 8x8 elements, eight in a row by four lanes; one of B such a piece
/// with rows and columns exchanged; and two of C one, each lane two neighbors (see `fragment`).
fn product(
    widen: impl Fn(u16) -> f32 + Copy,
    a: &[Lanes; 4],
    b: &[Lanes; 2],
    c: &[Lanes; 4],
) -> [Lanes; 4] {
    let mut left = [[0.0; K]; M];
    for (index, register) in a.iter().enumerate() {
        for group in 0..PIECE {
            let row = &mut left[group + PIECE * (index % 2)];
            let piece = halves(register, group).map(widen);
            row[PIECE * (index / 2)..][..PIECE].copy_from_slice(&piece);
        }
    }
    let mut right = [[0.0; N]; K];
    for (index, register) in b.iter().enumerate() {
        for column in 0..N {
            let piece = halves(register, column).map(widen);
            for (k, value) in piece.into_iter().enumerate() {
                right[PIECE * index + k][column] = value;
            }
        }
    }
    let mut d = [[0; LANES]; 4];
    for (row, factors) in left.iter().enumerate() {
        let (half, group) = (row / PIECE, row % PIECE);
        let place = |column: usize| (2 * half + column % 2, GROUP * group + column / 2);
        let mut sum: [f32; N] = std::array::from_fn(|column| {
            let (register, lane) = place(column);
            f32::from_bits(c[register][lane] as u32)
        });
        for (factor, columns) in factors.iter().zip(&right) {
            for (total, column) in sum.iter_mut().zip(columns) {
                *total += factor * column;
            }
        }
        for (column, value) in sum.map(canonical).into_iter().enumerate() {
            let (register, lane) = place(column);
            d[register][lane] = value;
        }
    }
    d
}

/// The eight halves that the four lanes of a group hold.
fn halves(register: &Lanes, group: usize) -> [u16; PIECE] {
    let lanes = &register[GROUP * group..][..GROUP];
    std::array::from_fn(|index| (lanes[index / 2] >> (16 * (index % 2))) as u16)
}

fn canonical(value: f32) -> u64 {
    if value.is_nan() {
        0x7FFF_FFFF
    } else {
        value.to_bits().into()
    }
}

fn widen_brain(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// f16 to f32 without a branch: the exponent's bias grows by 112; a subnormal is what it adds to the
/// smallest normal number; and infinities and NaN get an exponent of all ones.
fn widen_half(bits: u16) -> f32 {
    const BIAS: u32 = 112 << 23;
    const SMALLEST: u32 = 113 << 23;
    /// Where the exponent of f16 ends up: its one, and all of it.
    const ONE: u32 = 0x7C00 / 31 << 13;
    const ALL: u32 = 0x7C00 << 13;
    let magnitude = u32::from(bits & 0x7FFF) << 13;
    let subnormal = f32::from_bits(magnitude + SMALLEST) - f32::from_bits(SMALLEST);
    let normal = if magnitude < ALL {
        magnitude + BIAS
    } else {
        magnitude + 2 * BIAS
    };
    let magnitude = if magnitude < ONE {
        subnormal.to_bits()
    } else {
        normal
    };
    f32::from_bits(magnitude | u32::from(bits & 0x8000) << 16)
}
