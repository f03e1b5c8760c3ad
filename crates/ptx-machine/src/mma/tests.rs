//! Products against a plain loop over the matrices.

use super::*;
use proptest::prelude::*;

/// A 16x16 and a 16x8 matrix and C, as fragments of small whole numbers: exact in every format.
fn fragments(
    element: ScalarType,
    numbers: &[i8],
) -> ([Lanes; 4], [Lanes; 2], [Lanes; 4], Vec<i32>) {
    let bits = |number: i8| match element {
        ScalarType::Bf16 => u64::from(bf16::from_f32(f32::from(number)).to_bits()),
        _ => u64::from(f16::from_f32(f32::from(number)).to_bits()),
    };
    let (all_a, rest) = numbers.split_at(M * K);
    let (all_b, all_c) = rest.split_at(K * N);
    let (mut a, mut b, mut c) = ([[0; 32]; 4], [[0; 32]; 2], [[0; 32]; 4]);
    for lane in 0..32 {
        for at in 0..8 {
            let (row, column) = mma_a(lane, at);
            a[at / 2][lane] |= bits(all_a[row * K + column]) << (16 * (at % 2));
        }
        for at in 0..4 {
            let (row, column) = mma_b(lane, at);
            b[at / 2][lane] |= bits(all_b[row * N + column]) << (16 * (at % 2));
            let (row, column) = mma_c(lane, at);
            c[at][lane] = u64::from(f32::from(all_c[row * N + column]).to_bits());
        }
    }
    let product = (0..M * N).map(|at| {
        let (row, column) = (at / N, at % N);
        let terms =
            (0..K).map(|k| i32::from(all_a[row * K + k]) * i32::from(all_b[k * N + column]));
        i32::from(all_c[at]) + terms.sum::<i32>()
    });
    (a, b, c, product.collect())
}

proptest! {
    #[test]
    fn whole_numbers_multiply_exactly(
        numbers in prop::collection::vec(any::<i8>(), M * K + K * N + M * N),
        bf16 in any::<bool>(),
    ) {
        let element = if bf16 { ScalarType::Bf16 } else { ScalarType::F16 };
        let (a, b, c, expected) = fragments(element, &numbers);
        let d = multiply(element, &a, &b, &c);
        for (at, register) in d.iter().enumerate() {
            for (lane, bits) in register.iter().enumerate() {
                let (row, column) = mma_c(lane, at);
                let value = f32::from_bits(*bits as u32);
                prop_assert_eq!(value as i32, expected[row * N + column]);
            }
        }
    }
}
