//! Rotary position embedding (RoPE): a query's or key's columns turn with its position.
//!
//! Columns j and j + D/2 of a head are a point of the plane, which position t turns by the angle
//! `t * THETA^(-2 j / D)`. A score then depends on the distance of its two positions only.

use burn::module::Module;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};

use crate::sizes::Sizes;

/// Base of the frequencies: the slowest pair turns once in about 2 pi times as many tokens.
const THETA: f64 = 10_000.0;

/// Sines and cosines of all positions, each (context, D / 2) in f32.
#[derive(Module, Debug)]
pub(crate) struct Rotary {
    cos: Tensor<2>,
    sin: Tensor<2>,
}

impl Rotary {
    pub(crate) fn new(sizes: &Sizes, device: &Device) -> Self {
        let pairs = sizes.head_dim() / 2;
        // In f64: an angle of thousands has lost its digits in f32.
        let table = |function: fn(f64) -> f64| {
            let values: Vec<f32> = (0..sizes.context * pairs)
                .map(|at| function(angle(at / pairs, at % pairs, pairs)) as f32)
                .collect();
            Tensor::from_data(TensorData::new(values, [sizes.context, pairs]), device)
        };
        Self {
            cos: table(f64::cos),
            sin: table(f64::sin),
        }
    }

    /// Turns `x` (B, S, H, D) in f32, whatever its type, and returns it in `dtype`.
    pub(crate) fn turn(&self, x: Tensor<4>, dtype: FloatDType) -> Tensor<4> {
        let [_, length, _, dim] = x.dims();
        let x = x.cast(FloatDType::F32);
        // (S, D / 2) to (1, S, 1, D / 2)
        let rows = |table: &Tensor<2>| {
            let table = table.clone().slice_dim(0, 0..length);
            table.unsqueeze_dim::<3>(1).unsqueeze_dim::<4>(0)
        };
        let (cos, sin) = (rows(&self.cos), rows(&self.sin));
        let a = x.clone().slice_dim(3, 0..dim / 2); // (B, S, H, D / 2)
        let b = x.slice_dim(3, dim / 2..dim); // (B, S, H, D / 2)
        let turned_a = a.clone() * cos.clone() - b.clone() * sin.clone();
        let turned_b = a * sin + b * cos;
        Tensor::cat(vec![turned_a, turned_b], 3).cast(dtype)
    }
}

/// The angle of a pair of columns at a position.
fn angle(position: usize, pair: usize, pairs: usize) -> f64 {
    position as f64 * THETA.powf(-(pair as f64) / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::tests::TOY;

    /// q . k of one head, for a query at `m` and a key at `n`.
    fn score(rotary: &Rotary, m: usize, n: usize) -> f64 {
        let dim = TOY.head_dim();
        let at = |position: usize, value: fn(usize) -> f32| -> Vec<f64> {
            let row: Vec<f32> = (0..dim).map(value).collect();
            let x = Tensor::<1>::from_data(row.as_slice(), &Device::flex());
            let x = x.reshape([1, 1, 1, dim]).repeat_dim(1, TOY.context);
            let turned = rotary.turn(x, FloatDType::F32);
            let row = turned.slice_dim(1, position..=position);
            row.into_data().iter().collect()
        };
        let q = at(m, |column| 1.0 + column as f32);
        let k = at(n, |column| 2.0 - 0.5 * column as f32);
        q.iter().zip(&k).map(|(q, k)| q * k).sum()
    }

    #[test]
    fn a_score_depends_on_the_distance_only() {
        let rotary = Rotary::new(&TOY, &Device::flex());
        let (near, same, far) = (
            score(&rotary, 3, 1),
            score(&rotary, 12, 10),
            score(&rotary, 12, 4),
        );
        assert!((near - same).abs() < 1e-3, "{near} and {same}");
        assert!((near - far).abs() > 1.0, "{near} and {far}");
    }

    #[test]
    fn the_first_position_stays_as_it_is() {
        let rotary = Rotary::new(&TOY, &Device::flex());
        let x = Tensor::<4>::ones([1, 1, 1, TOY.head_dim()], &Device::flex());
        let turned: Vec<f32> = rotary.turn(x, FloatDType::F32).into_data().iter().collect();
        assert_eq!(turned, vec![1.0; TOY.head_dim()]);
    }
}
