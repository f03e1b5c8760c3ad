//! `mma.sync.m16n8k16`: D = A B + C.
//!
//! Products of 16-bit numbers are exact in f32. The ISA leaves the order of the sums, and what is
//! kept of them between, open; here they are f32 additions over k upwards, beginning with C.

use crate::alu::Lanes;
use crate::fragment::{mma_a, mma_b, mma_c};
use crate::module::ScalarType;
use half::{bf16, f16};

const M: usize = 16;
const N: usize = 8;
const K: usize = 16;

/// The fragments of D from those of A, B and C; `element` is the type of A and B.
#[must_use]
pub fn multiply(element: ScalarType, a: &[Lanes; 4], b: &[Lanes; 2], c: &[Lanes; 4]) -> [Lanes; 4] {
    let value = |bits: u16| match element {
        ScalarType::Bf16 => bf16::from_bits(bits).to_f32(),
        _ => f16::from_bits(bits).to_f32(),
    };
    let mut rows_a = [[0.0_f32; K]; M];
    let mut rows_b = [[0.0_f32; N]; K];
    let mut rows_c = [[0.0_f32; N]; M];
    for lane in 0..32 {
        for at in 0..8 {
            let (row, column) = mma_a(lane, at);
            rows_a[row][column] = value((a[at / 2][lane] >> (16 * (at % 2))) as u16);
        }
        for at in 0..4 {
            let (row, column) = mma_b(lane, at);
            rows_b[row][column] = value((b[at / 2][lane] >> (16 * (at % 2))) as u16);
            let (row, column) = mma_c(lane, at);
            rows_c[row][column] = f32::from_bits(c[at][lane] as u32);
        }
    }
    for (row_a, row_c) in rows_a.iter().zip(&mut rows_c) {
        for (factor, row_b) in row_a.iter().zip(&rows_b) {
            for (sum, value) in row_c.iter_mut().zip(row_b) {
                *sum += factor * value;
            }
        }
    }
    std::array::from_fn(|at| {
        std::array::from_fn(|lane| {
            let (row, column) = mma_c(lane, at);
            u64::from(rows_c[row][column].to_bits())
        })
    })
}

#[cfg(test)]
mod tests;
