//! The GPT: tokens to the next token's logits.
//!
//! For bytes t of a sequence, with the norm first ("pre-norm"):
//!
//! ```text
//! x = E[t]
//! in each layer:
//!     x = x + attention(norm(x))
//!     x = x + feed_forward(norm(x))
//! logits = norm(x) E^T
//! ```
//!
//! Weights, the residual stream x, the norms, the rotation of queries and keys, and the loss are in
//! f32. The operands and results of the matrix products, and all of attention and SwiGLU between
//! them, are in the type of the run; what a product accumulates in is the backend's choice. With
//! `--dtype f32` nothing is rounded to fewer bits.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{RmsNorm, RmsNormConfig};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::attention::{Compute, SelfAttention};
use crate::data::Batch;
use crate::feed_forward::FeedForward;
use crate::matrix::Matrix;
use crate::rotary::Rotary;
use crate::sizes::{Sizes, VOCABULARY};

/// Deviation of the weights at the start, that of GPT-2.
const DEVIATION: f32 = 0.02;

/// The model.
#[derive(Module, Debug)]
pub(crate) struct Gpt {
    /// A row for each token; the output projection as well.
    tokens: Matrix,
    layers: Vec<Layer>,
    norm: RmsNorm,
    rotary: Rotary,
}

impl Gpt {
    /// A model with random weights, the same for a seed on every device.
    pub(crate) fn new(sizes: &Sizes, seed: u64, device: &Device) -> Self {
        let rng = &mut StdRng::seed_from_u64(seed);
        // Each layer adds two terms to the residual stream. Smaller ones keep the sum of all at the
        // size of one, as in GPT-2.
        let last = DEVIATION / (2.0 * sizes.layers as f32).sqrt();
        let deviations = [DEVIATION, last];
        Self {
            tokens: Matrix::draw([VOCABULARY, sizes.width], DEVIATION, rng, device),
            layers: (0..sizes.layers)
                .map(|_| Layer::new(sizes, deviations, rng, device))
                .collect(),
            norm: RmsNormConfig::new(sizes.width).init(device),
            rotary: Rotary::new(sizes, device),
        }
    }

    /// Logits of the token after each of `tokens` (B, S): (B, S, vocabulary) in f32.
    pub(crate) fn logits(&self, tokens: Tensor<2, Int>, compute: Compute) -> Tensor<3> {
        let x = self.embed(tokens, compute.dtype); // (B, S, width)
        let x = self
            .layers
            .iter()
            .fold(x, |x, layer| layer.forward(x, &self.rotary, compute)); // (B, S, width)
        let logits = self
            .tokens
            .multiply_transposed(self.norm.forward(x), compute.dtype);
        logits.cast(FloatDType::F32)
    }

    /// Mean cross entropy of a batch's targets, in nats, one f32.
    pub(crate) fn loss(&self, batch: Batch, compute: Compute) -> Tensor<1> {
        let [sequences, length] = batch.targets.dims();
        let logits = self.logits(batch.inputs, compute); // (B, S, vocabulary)
        let rows = sequences * length;
        CrossEntropyLossConfig::new()
            .init(&logits.device())
            .forward(
                logits.reshape([rows, VOCABULARY]),
                batch.targets.reshape([rows]),
            )
    }

    /// The gains of the last norm, (width).
    #[cfg(test)]
    pub(crate) fn gains(&self) -> Tensor<1> {
        self.norm.gamma.val().inner()
    }

    /// Rows of the table: (B, S) to (B, S, width) in f32.
    ///
    /// As a product with rows that are 1 at their token and 0 elsewhere. Burn's lookup sums the
    /// gradients of its rows with one thread a column, one token after the other; for 256 tokens
    /// the product is faster by far, and tensor cores sum in a fixed order.
    fn embed(&self, tokens: Tensor<2, Int>, dtype: FloatDType) -> Tensor<3> {
        let ids: Vec<i32> = (0..VOCABULARY as i32).collect();
        let ids = TensorData::new(ids, [1, 1, VOCABULARY]);
        let ids = Tensor::<3, Int>::from_data(ids, &tokens.device()); // (1, 1, vocabulary)
        let is_token = tokens.unsqueeze_dim::<3>(2).equal(ids); // (B, S, vocabulary)
        let one_hot = is_token.float();
        self.tokens.multiply(one_hot, dtype).cast(FloatDType::F32)
    }
}

/// Attention and a feed-forward layer, each with a norm before and added to the residual stream.
#[derive(Module, Debug)]
struct Layer {
    attention_norm: RmsNorm,
    attention: SelfAttention,
    feed_forward_norm: RmsNorm,
    feed_forward: FeedForward,
}

impl Layer {
    fn new(sizes: &Sizes, deviations: [f32; 2], rng: &mut StdRng, device: &Device) -> Self {
        let norm = || RmsNormConfig::new(sizes.width).init(device);
        Self {
            attention_norm: norm(),
            attention: SelfAttention::new(sizes, deviations, rng, device),
            feed_forward_norm: norm(),
            feed_forward: FeedForward::new(sizes, deviations, rng, device),
        }
    }

    /// Maps the residual stream (B, S, width) to the next, in f32.
    fn forward(&self, x: Tensor<3>, rotary: &Rotary, compute: Compute) -> Tensor<3> {
        let normed = self.attention_norm.forward(x.clone()); // (B, S, width)
        let attended = self.attention.forward(normed, rotary, compute);
        let x = x + attended.cast(FloatDType::F32);
        let normed = self.feed_forward_norm.forward(x.clone()); // (B, S, width)
        let expanded = self.feed_forward.forward(normed, compute.dtype);
        x + expanded.cast(FloatDType::F32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::Attention;
    use crate::sizes::tests::TOY;

    const COMPUTE: Compute = Compute {
        attention: Attention::Fa2,
        dtype: FloatDType::F32,
    };

    fn tokens(bytes: &[u8]) -> Tensor<2, Int> {
        let ids: Vec<i32> = bytes.iter().map(|&byte| i32::from(byte)).collect();
        Tensor::from_data(TensorData::new(ids, [1, bytes.len()]), &Device::flex())
    }

    fn logits(bytes: &[u8], compute: Compute) -> Vec<f32> {
        let model = Gpt::new(&TOY, 5, &Device::flex());
        model
            .logits(tokens(bytes), compute)
            .into_data()
            .iter()
            .collect()
    }

    #[test]
    fn every_token_gets_a_logit_of_every_token() {
        let model = Gpt::new(&TOY, 5, &Device::flex());
        for length in [1, 7, TOY.context] {
            let logits = model.logits(tokens(&vec![65; length]), COMPUTE);
            assert_eq!(logits.dims(), [1, length, VOCABULARY]);
        }
    }

    #[test]
    fn the_formula_counts_the_parameters_there_are() {
        for sizes in [
            TOY,
            Sizes {
                layers: 3,
                heads: 2,
                kv_heads: 1,
                ..TOY
            },
        ] {
            let model = Gpt::new(&sizes, 5, &Device::flex());
            assert_eq!(model.num_params(), sizes.parameters());
        }
    }

    #[test]
    fn a_later_token_changes_no_earlier_logits() {
        let (one, other) = (*b"causality holds", *b"causality fails");
        for attention in [Attention::Fa2, Attention::Burn, Attention::Composed] {
            let compute = Compute {
                attention,
                ..COMPUTE
            };
            let [one, other] = [one, other].map(|bytes| logits(&bytes, compute));
            let rows = |logits: &[f32]| -> Vec<Vec<f32>> {
                logits.chunks(VOCABULARY).map(<[f32]>::to_vec).collect()
            };
            let same = rows(&one)
                .iter()
                .zip(rows(&other))
                .take_while(|(one, other)| **one == *other)
                .count();
            assert_eq!(same, b"causality ".len(), "{attention:?}");
        }
    }

    #[test]
    fn an_earlier_token_changes_later_logits() {
        let [one, other] = [b"ab", b"bb"].map(|bytes| logits(bytes, COMPUTE));
        assert_ne!(one[VOCABULARY..], other[VOCABULARY..]);
    }

    #[test]
    fn equal_seeds_draw_equal_models_and_others_do_not() {
        let draw = |seed| -> Vec<f32> {
            let model = Gpt::new(&TOY, seed, &Device::flex());
            model
                .logits(tokens(b"x"), COMPUTE)
                .into_data()
                .iter()
                .collect()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn half_precision_stays_near_f32() {
        let exact = logits(b"rounded", COMPUTE);
        for (dtype, unit) in [
            (FloatDType::F16, 2_f32.powi(-11)),
            (FloatDType::BF16, 2_f32.powi(-8)),
        ] {
            let rounded = logits(b"rounded", Compute { dtype, ..COMPUTE });
            let largest = exact.iter().fold(0_f32, |largest, x| largest.max(x.abs()));
            let gap = exact
                .iter()
                .zip(&rounded)
                .fold(0_f32, |gap, (a, b)| gap.max((a - b).abs()));
            // A dozen roundings on the way, each of one unit; and it must not be f32 in disguise.
            assert!(
                gap > 0.0 && gap < 16.0 * unit * largest,
                "{dtype:?}: {gap} of {largest}"
            );
        }
    }
}
