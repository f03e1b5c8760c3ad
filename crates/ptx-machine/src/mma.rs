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
    multiply_borrowed(element, a.each_ref(), b.each_ref(), c.each_ref())
}

/// [`multiply`] of registers that lie anywhere.
pub(crate) fn multiply_borrowed(
    element: ScalarType,
    a: [&Lanes; 4],
    b: [&Lanes; 2],
    c: [&Lanes; 4],
) -> [Lanes; 4] {
    match element {
        ScalarType::Bf16 => product(widen_brain, a, b, c),
        _ => product(widen_half, a, b, c),
    }
}

/// The product, with `widen` known when it is compiled: its loops become vectors.
///
/// A register of A holds a piece of 8x8 elements: four lanes a row, two neighbors a lane. One of B
/// holds such a piece with rows and columns exchanged; and two of C hold one, each lane two
/// neighbors (see `fragment`).
fn product(
    widen: impl Fn(u32) -> f32 + Copy,
    a: [&Lanes; 4],
    b: [&Lanes; 2],
    c: [&Lanes; 4],
) -> [Lanes; 4] {
    let mut left = [Halves::ZERO; 4];
    for (halves, register) in left.iter_mut().zip(a) {
        halves.fill(register, widen);
    }
    let right = rows(b, widen);
    let mut d = [[0; LANES]; 4];
    for row in 0..M {
        let (piece, lanes) = (row / PIECE, GROUP * (row % PIECE));
        let registers = [2 * piece, 2 * piece + 1];
        let mut sum = [0.0; N];
        for (sum, register) in sum.chunks_exact_mut(GROUP).zip(registers) {
            for (sum, bits) in sum.iter_mut().zip(&c[register][lanes..]) {
                *sum = f32::from_bits(*bits as u32);
            }
        }
        for (k, columns) in right.iter().enumerate() {
            let Halves { low, high } = &left[2 * (k / PIECE) + piece];
            let half = if k % 2 == 0 { low } else { high };
            let factor = half[lanes + k % PIECE / 2];
            for (sum, column) in sum.iter_mut().zip(columns) {
                *sum += factor * column;
            }
        }
        for (sum, register) in sum.chunks_exact(GROUP).zip(registers) {
            for (bits, sum) in d[register][lanes..].iter_mut().zip(sum) {
                *bits = canonical(*sum);
            }
        }
    }
    d
}

/// The two halves of each lane of a register, widened.
#[derive(Clone, Copy)]
struct Halves {
    low: [f32; LANES],
    high: [f32; LANES],
}

impl Halves {
    const ZERO: Self = Self {
        low: [0.0; LANES],
        high: [0.0; LANES],
    };

    /// `widen` takes a half in the upper bits of a word, with anything below.
    #[inline]
    fn fill(&mut self, register: &Lanes, widen: impl Fn(u32) -> f32) {
        // Words first: loops over one width become wider vectors.
        let mut words = [0; LANES];
        for (word, bits) in words.iter_mut().zip(register) {
            *word = *bits as u32;
        }
        for (value, word) in self.low.iter_mut().zip(words) {
            *value = widen(word << 16);
        }
        for (value, word) in self.high.iter_mut().zip(words) {
            *value = widen(word);
        }
    }
}

/// The rows of B, each with the even columns first and then the odd ones: so they lie in the
/// registers of C.
#[inline]
fn rows(b: [&Lanes; 2], widen: impl Fn(u32) -> f32 + Copy) -> [[f32; N]; K] {
    let mut rows = [[0.0; N]; K];
    for (piece, register) in b.into_iter().enumerate() {
        let mut halves = Halves::ZERO;
        halves.fill(register, widen);
        for lane in 0..LANES {
            let (column, row) = (lane / GROUP, PIECE * piece + 2 * (lane % GROUP));
            let column = GROUP * (column % 2) + column / 2;
            rows[row][column] = halves.low[lane];
            rows[row + 1][column] = halves.high[lane];
        }
    }
    rows
}

#[inline]
fn canonical(value: f32) -> u64 {
    if value.is_nan() {
        0x7FFF_FFFF
    } else {
        value.to_bits().into()
    }
}

/// The bf16 in the upper half of a word.
#[inline]
fn widen_brain(word: u32) -> f32 {
    f32::from_bits(word & 0xFFFF_0000)
}

/// The f16 in the upper half of a word, without a branch.
///
/// The exponent's bias grows by 112, and once more for infinities and NaN. A subnormal would get an
/// exponent of 112; with one of 113, it is its value above the smallest normal number.
#[inline]
fn widen_half(word: u32) -> f32 {
    const BIAS: u32 = 112 << 23;
    /// The least normal magnitude and the least infinite one, with the exponent in f32's place.
    const NORMAL: u32 = 1 << 23;
    const INFINITE: u32 = 31 << 23;
    let magnitude = (word & 0x7FFF_0000) >> 3;
    let above = if magnitude < NORMAL { NORMAL + BIAS } else { 0 };
    let step = if magnitude < NORMAL { NORMAL } else { 0 };
    let special = if magnitude < INFINITE { 0 } else { BIAS };
    let value = f32::from_bits(magnitude + BIAS + step + special) - f32::from_bits(above);
    f32::from_bits(value.to_bits() | (word & 0x8000_0000))
}
