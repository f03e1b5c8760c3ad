//! Q, K and V of a case: reproducible values, laid out as the case's storage says.

use std::ops::Range;

use rand::{Rng, SeedableRng, rngs::StdRng};
use rand_distr::StandardNormal;

use crate::{
    case::{Case, Inputs, Storage},
    element::Element,
};

/// A `[batch, heads, seq, head_dim]` tensor in memory.
#[derive(Clone, Debug)]
pub struct Stored<E> {
    /// Every element of the allocation, padding included.
    pub data: Vec<E>,
    /// `[batch, heads, seq, head_dim]`.
    pub shape: [usize; 4],
    /// In elements; the last is 1.
    pub strides: [usize; 4],
}

/// The operands of a case.
#[derive(Clone, Debug)]
pub struct Qkv<E> {
    /// Queries.
    pub q: Stored<E>,
    /// Keys.
    pub k: Stored<E>,
    /// Values.
    pub v: Stored<E>,
}

/// The operands of `case`: the same for the same seed, and different tensors for different seeds.
#[must_use]
pub fn generate<E: Element>(case: &Case, seed: u64) -> Qkv<E> {
    let mut rng = StdRng::seed_from_u64(seed);
    let dim = case.head_dim;
    let mut normal = |shape: [usize; 4], factor: f64| -> Vec<f64> {
        (0..shape.iter().product())
            .map(|_| factor * rng.sample::<f64, _>(StandardNormal))
            .collect()
    };
    let factor = match case.inputs {
        Inputs::Uniform | Inputs::Normal => 1.0,
        Inputs::Concentrated => 3.0,
        Inputs::Huge => 30.0,
        // Small against the first column, as in the report that this kind replays.
        Inputs::VeryNegative => 0.1,
    };
    let mut q = normal(case.shape_q(), factor);
    let mut k = normal(case.shape_kv(), factor);
    let v = normal(case.shape_kv(), 1.0);

    match case.inputs {
        Inputs::Uniform => {
            let first: Vec<f64> = k.iter().copied().take(dim).collect();
            k.chunks_exact_mut(dim)
                .for_each(|key| key.copy_from_slice(&first));
        }
        Inputs::VeryNegative => {
            q.chunks_exact_mut(dim).for_each(|query| query[0] = 1.0);
            k.chunks_exact_mut(dim)
                .for_each(|key| key[0] = -120.0 / case.scale_value());
        }
        Inputs::Normal | Inputs::Concentrated | Inputs::Huge => {}
    }
    Qkv {
        q: Stored::new(&q, case.shape_q(), case.storage),
        k: Stored::new(&k, case.shape_kv(), case.storage),
        v: Stored::new(&v, case.shape_kv(), case.storage),
    }
}

impl<E: Element> Stored<E> {
    /// Rounds contiguous values to `E` and lays them out.
    #[must_use]
    pub fn new(values: &[f64], shape: [usize; 4], storage: Storage) -> Self {
        let [batch, heads, seq, dim] = shape;
        let strides = match storage {
            Storage::Bhsd => [heads * seq * dim, seq * dim, dim, 1],
            Storage::Bshd => [seq * heads * dim, dim, heads * dim, 1],
            Storage::PaddedRows => {
                // At least 8 elements of padding, and rows that start at a multiple of 8: 16 bytes
                // in a half type.
                let row = (dim.div_ceil(8) + 1) * 8;
                [heads * seq * row, seq * row, row, 1]
            }
        };
        let mut data = vec![E::POISON; batch * strides[0]];
        for (index, value) in values.iter().enumerate() {
            data[offset(index, shape, strides)] = E::from_f64(*value);
        }
        Self {
            data,
            shape,
            strides,
        }
    }

    /// The elements in `[batch, heads, seq, head_dim]` order, without padding.
    #[must_use]
    pub fn logical(&self) -> Vec<E> {
        self.rows()
            .flat_map(|row| &self.data[row])
            .copied()
            .collect()
    }

    /// Where the elements of each row lie in `data`, in `[batch, heads, seq]` order.
    pub fn rows(&self) -> impl Iterator<Item = Range<usize>> + use<E> {
        let (shape, strides) = (self.shape, self.strides);
        let [batch, heads, seq, dim] = shape;
        (0..batch * heads * seq).map(move |row| {
            let start = offset(row * dim, shape, strides);
            start..start + dim
        })
    }
}

impl<E: Element> Qkv<E> {
    /// Q, K and V in `[batch, heads, seq, head_dim]` order, without padding.
    #[must_use]
    pub fn logical(&self) -> [Vec<E>; 3] {
        [self.q.logical(), self.k.logical(), self.v.logical()]
    }
}

/// Where the element at `index` of the row-major order of `shape` lies.
fn offset(index: usize, shape: [usize; 4], strides: [usize; 4]) -> usize {
    let (row, col) = (index / shape[3], index % shape[3]);
    let (head, row) = (row / shape[2], row % shape[2]);
    let (batch, head) = (head / shape[1], head % shape[1]);
    batch * strides[0] + head * strides[1] + row * strides[2] + col * strides[3]
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_values_in_every_storage() {
        let case = Case::new("storage", 2, 3, 5, 12);
        let plain = generate::<f16>(&case, 7).logical();
        for storage in [Storage::Bshd, Storage::PaddedRows] {
            assert_eq!(
                generate::<f16>(&case.stored(storage), 7).logical(),
                plain,
                "{storage:?}"
            );
        }
        assert_ne!(generate::<f16>(&case, 8).logical(), plain);
    }

    #[test]
    fn bshd_swaps_heads_and_rows() {
        let stored =
            Stored::<f32>::new(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1, 2, 3, 1], Storage::Bshd);
        assert_eq!(stored.data, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    }

    #[test]
    fn only_the_padding_is_poison() {
        let stored = Stored::<f16>::new(&[1.0; 24], [1, 2, 3, 4], Storage::PaddedRows);
        assert_eq!(
            stored.data.iter().filter(|value| value.is_poison()).count(),
            6 * (16 - 4)
        );
        assert!(stored.logical().iter().all(|value| *value == f16::ONE));
    }

    #[test]
    fn very_negative_scores_are_very_negative() {
        let case = Case::new("negative", 1, 1, 9, 64).inputs(Inputs::VeryNegative);
        let [q, k, v] = generate::<f16>(&case, 3).logical();
        let lse = crate::oracle::attention(&case, &q, &k, &v).lse;
        // Below -104 even the smallest subnormal f32 is larger than exp(score).
        assert!(lse.iter().all(|lse| *lse < -104.0), "{lse:?}");
    }

    #[test]
    fn uniform_keys_average_the_values() {
        let case = Case::new("uniform", 1, 1, 3, 8)
            .keys(5)
            .inputs(Inputs::Uniform);
        let [q, k, v] = generate::<f32>(&case, 3).logical();
        let output = crate::oracle::attention(&case, &q, &k, &v).output;
        for (col, out) in output.iter().enumerate().take(8) {
            let mean = (0..5).map(|row| f64::from(v[row * 8 + col])).sum::<f64>() / 5.0;
            assert!(
                (out - mean).abs() < 16.0 * f64::EPSILON,
                "{out} is not {mean}"
            );
        }
    }
}
