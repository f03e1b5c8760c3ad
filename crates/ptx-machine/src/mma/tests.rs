//! Products of matrices whose sums are exact, and special values.

use half::{bf16, f16};
use proptest::prelude::*;

use super::{multiply, widen_half};
use crate::{
    alu::{LANES, Lanes},
    fragment::{mma_a, mma_b, mma_c},
    module::ScalarType,
};

struct Matrices {
    a: [[f32; 16]; 16],
    b: [[f32; 8]; 16],
    c: [[f32; 8]; 16],
}

impl Matrices {
    /// Small integers, so that every sum is exact in any order.
    fn integers(values: &[i8]) -> Self {
        let at = |index: usize| f32::from(values[index % values.len()] % 16);
        let mut found = Self {
            a: [[0.0; 16]; 16],
            b: [[0.0; 8]; 16],
            c: [[0.0; 8]; 16],
        };
        for row in 0..16 {
            found.a[row] = std::array::from_fn(|column| at(row * 17 + column * 3));
            found.b[row] = std::array::from_fn(|column| at(row * 5 + column * 29 + 1));
            found.c[row] = std::array::from_fn(|column| at(row * 7 + column * 11 + 2));
        }
        found
    }

    fn multiply(&self, element: ScalarType) -> [[f32; 8]; 16] {
        let narrow = |value: f32| {
            u64::from(match element {
                ScalarType::Bf16 => bf16::from_f32(value).to_bits(),
                _ => f16::from_f32(value).to_bits(),
            })
        };
        let (mut a, mut b, mut c) = ([[0; LANES]; 4], [[0; LANES]; 2], [[0; LANES]; 4]);
        for lane in 0..LANES {
            for index in 0..8 {
                let place = mma_a(lane, index);
                a[index / 2][lane] |= narrow(self.a[place.row][place.column]) << (16 * (index % 2));
            }
            for index in 0..4 {
                let place = mma_b(lane, index);
                b[index / 2][lane] |= narrow(self.b[place.row][place.column]) << (16 * (index % 2));
                let place = mma_c(lane, index);
                c[index][lane] = self.c[place.row][place.column].to_bits().into();
            }
        }
        let d: [Lanes; 4] = multiply(element, &a, &b, &c);
        let mut found = [[0.0; 8]; 16];
        for lane in 0..LANES {
            for (index, register) in d.iter().enumerate() {
                let place = mma_c(lane, index);
                found[place.row][place.column] = f32::from_bits(register[lane] as u32);
            }
        }
        found
    }
}

proptest! {
    #[test]
    fn product_of_small_integers_is_exact(values in prop::collection::vec(any::<i8>(), 300)) {
        let matrices = Matrices::integers(&values);
        for element in [ScalarType::F16, ScalarType::Bf16] {
            for (row, found) in matrices.multiply(element).iter().enumerate() {
                for (column, found) in found.iter().enumerate() {
                    let products = (0..16).map(|k| matrices.a[row][k] * matrices.b[k][column]);
                    let expected = matrices.c[row][column] + products.sum::<f32>();
                    prop_assert_eq!(*found, expected);
                }
            }
        }
    }
}

#[test]
fn nan_stays_in_its_row_and_is_canonical() {
    let mut matrices = Matrices::integers(&[1]);
    matrices.a[3][5] = f32::NAN;
    matrices.c[7][2] = f32::NEG_INFINITY;
    let found = matrices.multiply(ScalarType::F16);
    assert!(found[3].iter().all(|value| value.to_bits() == 0x7FFF_FFFF));
    assert_eq!(found[7][2], f32::NEG_INFINITY);
    assert_eq!(found[0][0], 17.0);
}

#[test]
fn every_half_widens_exactly() {
    for bits in 0..=u16::MAX {
        let (found, expected) = (
            widen_half(u32::from(bits) << 16),
            f16::from_bits(bits).to_f32(),
        );
        assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan());
    }
}
