//! Causal self-attention with grouped heads, and the choice of the op that computes it.

use burn::module::Module;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, FloatDType, Tensor};
use burn_fa2::{FlashAttentionOptions, Strategy, flash_attention};
use clap::ValueEnum;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::rotary::Rotary;
use crate::sizes::Sizes;

/// Which op computes `softmax(Q K^T / sqrt(D) + causal mask) V`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Attention {
    /// burn-fa2: its kernel where that serves, its composed path elsewhere
    Fa2,
    /// Burn's own, with keys and values repeated for each query head
    Burn,
    /// burn-fa2's composed path, on every device
    Composed,
}

impl Attention {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fa2 => "fa2",
            Self::Burn => "burn",
            Self::Composed => "composed",
        }
    }

    /// Attention of `q` (B, H, S, D) over `k` and `v` (B, Hkv, S, D): (B, H, S, D).
    pub(crate) fn attend(self, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
        let causal = FlashAttentionOptions::causal();
        match self {
            Self::Fa2 => flash_attention(q, k, v, causal),
            Self::Composed => flash_attention(q, k, v, causal.with_strategy(Strategy::Composed)),
            Self::Burn => {
                let [_, heads, _, _] = q.dims();
                let options = AttentionModuleOptions {
                    is_causal: true,
                    ..Default::default()
                };
                let [k, v] = [k, v].map(|x| repeat_heads(x, heads));
                burn::tensor::module::attention(q, k, v, None, None, options)
            }
        }
    }
}

/// Each head of (B, Hkv, S, D) as often as query heads share it: (B, H, S, D).
fn repeat_heads(x: Tensor<4>, heads: usize) -> Tensor<4> {
    let [batch, kv_heads, length, dim] = x.dims();
    if heads == kv_heads {
        return x;
    }
    x.unsqueeze_dim::<5>(2)
        .repeat_dim(2, heads / kv_heads)
        .reshape([batch, heads, length, dim])
}

/// How a forward pass computes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compute {
    pub(crate) attention: Attention,
    /// Of the operands and results of every matrix product and of attention.
    pub(crate) dtype: FloatDType,
}

/// The projections around attention, without the norm before and the residual after.
#[derive(Module, Debug)]
pub(crate) struct SelfAttention {
    query: Matrix,
    key: Matrix,
    value: Matrix,
    output: Matrix,
    heads: usize,
    kv_heads: usize,
}

impl SelfAttention {
    /// Weights with the deviation `inner`, those of the output projection with `last`.
    pub(crate) fn new(
        sizes: &Sizes,
        [inner, last]: [f32; 2],
        rng: &mut StdRng,
        device: &Device,
    ) -> Self {
        let Sizes { width, .. } = *sizes;
        let mut draw = |columns, deviation| Matrix::draw([width, columns], deviation, rng, device);
        Self {
            query: draw(width, inner),
            key: draw(sizes.kv_width(), inner),
            value: draw(sizes.kv_width(), inner),
            output: draw(width, last),
            heads: sizes.heads,
            kv_heads: sizes.kv_heads,
        }
    }

    /// Maps (B, S, width) to (B, S, width) in the compute type.
    pub(crate) fn forward(&self, x: Tensor<3>, rotary: &Rotary, compute: Compute) -> Tensor<3> {
        let Compute { attention, dtype } = compute;
        let [batch, length, width] = x.dims();
        // Rounded once for three products.
        let x = x.cast(dtype);
        let heads_of = |matrix: &Matrix, heads: usize| {
            let projected = matrix.multiply(x.clone(), dtype); // (B, S, H * D)
            projected.reshape([batch, length, heads, width / self.heads]) // (B, S, H, D)
        };
        let q = rotary.turn(heads_of(&self.query, self.heads), dtype);
        let k = rotary.turn(heads_of(&self.key, self.kv_heads), dtype);
        let v = heads_of(&self.value, self.kv_heads);
        // Only strides change: burn-fa2's kernel reads (B, S, H, D) seen as (B, H, S, D) in place.
        let [q, k, v] = [q, k, v].map(|x| x.swap_dims(1, 2));
        let o = attention.attend(q, k, v); // (B, H, S, D)
        let o = o.swap_dims(1, 2).reshape([batch, length, width]); // (B, S, width)
        self.output.multiply(o, dtype)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Distribution;

    use super::*;

    #[test]
    fn a_repeated_head_stands_beside_itself() {
        let x = Tensor::<4>::from_data([[[[1.0]], [[2.0]]]], &Device::flex()); // (1, 2, 1, 1)
        let repeated: Vec<f32> = repeat_heads(x, 6).into_data().iter().collect();
        assert_eq!(repeated, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn all_three_compute_the_same() {
        let random = |heads| {
            let shape = [2, heads, 9, 8];
            Tensor::<4>::random(shape, Distribution::Normal(0.0, 1.0), &Device::flex())
        };
        let (q, k, v) = (random(4), random(2), random(2));
        let [fa2, burn, composed] = [Attention::Fa2, Attention::Burn, Attention::Composed]
            .map(|attention| attention.attend(q.clone(), k.clone(), v.clone()));
        for other in [fa2, composed] {
            let gap: f32 = (burn.clone() - other).abs().max().into_scalar();
            // Averages of 9 values of a few units each, in f32.
            assert!(gap < 64.0 * f32::EPSILON, "{gap}");
        }
    }
}
