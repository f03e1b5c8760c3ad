//! MiniLM: a BERT encoder, its mean over the tokens, and the sentence embedding that comes of it.
//!
//! For a sentence of S tokens, with x the sum of word, position and segment embeddings:
//!
//! ```text
//! x = norm(x)
//! in each layer, with the norm last ("post-norm"):
//!     x = norm(x + attention(x))
//!     x = norm(x + down(gelu(up(x))))
//! e = mean over tokens of x
//! e = e / |e|
//! ```

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::activation::gelu;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor};

use crate::attention::{Attention, SelfAttention};

/// BERT's epsilon. It only has to keep a constant row from dividing by zero.
const LAYER_NORM_EPSILON: f64 = 1e-12;

/// The sizes that tell one BERT encoder from another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) vocabulary: usize,
    pub(crate) positions: usize,
    pub(crate) segments: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) intermediate: usize,
}

impl Sizes {
    /// all-MiniLM-L6-v2, as its config.json has it.
    pub(crate) const MINILM_L6: Self = Self {
        vocabulary: 30_522,
        positions: 512,
        segments: 2,
        hidden: 384,
        heads: 12,
        layers: 6,
        intermediate: 1_536,
    };

    /// A model to run where the weights can't be had: less of everything, and the same head
    /// dimension, 32, so that it takes the same kernel.
    pub(crate) const SMALL: Self = Self {
        vocabulary: 4_096,
        positions: 512,
        segments: 2,
        hidden: 128,
        heads: 4,
        layers: 2,
        intermediate: 512,
    };

    /// Columns of a head.
    pub(crate) fn head_dim(&self) -> usize {
        self.hidden / self.heads
    }
}

/// The encoder with its pooling.
#[derive(Module, Debug)]
pub(crate) struct MiniLm {
    embeddings: Embeddings,
    layers: Vec<Layer>,
}

impl MiniLm {
    /// A model with random weights.
    pub(crate) fn new(sizes: &Sizes, device: &Device) -> Self {
        Self {
            embeddings: Embeddings::new(sizes, device),
            layers: (0..sizes.layers)
                .map(|_| Layer::new(sizes, device))
                .collect(),
        }
    }

    /// Embeds sentences of one length: token ids (B, S) to unit vectors (B, hidden).
    pub(crate) fn forward(&self, tokens: Tensor<2, Int>, attention: Attention) -> Tensor<2> {
        let x = self.embeddings.forward(tokens); // (B, S, hidden)
        let x = self
            .layers
            .iter()
            .fold(x, |x, layer| layer.forward(x, attention)); // (B, S, hidden)
        normalize(mean_over_tokens(x))
    }

    /// Q, K and V of the first layer, each (B, H, S, D).
    pub(crate) fn first_projections(&self, tokens: Tensor<2, Int>) -> Option<[Tensor<4>; 3]> {
        let layer = self.layers.first()?;
        Some(layer.attention.project(self.embeddings.forward(tokens)))
    }
}

/// What a token brings by being itself, at its place, in its segment.
#[derive(Module, Debug)]
struct Embeddings {
    word: Embedding,
    position: Embedding,
    segment: Embedding,
    norm: LayerNorm,
}

impl Embeddings {
    fn new(sizes: &Sizes, device: &Device) -> Self {
        let table = |rows| EmbeddingConfig::new(rows, sizes.hidden).init(device);
        Self {
            word: table(sizes.vocabulary),
            position: table(sizes.positions),
            segment: table(sizes.segments),
            norm: layer_norm(sizes, device),
        }
    }

    fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let [_, length] = tokens.dims();
        let word = self.word.forward(tokens); // (B, S, hidden)
        let position = self.position.weight.val().slice_dim(0, 0..length); // (S, hidden)
        // A sentence by itself is all segment 0; BERT numbers the two sentences of a pair.
        let segment = self.segment.weight.val().slice_dim(0, 0..1); // (1, hidden)
        let place = (position + segment).unsqueeze(); // (1, S, hidden)
        self.norm.forward(word + place)
    }
}

/// Attention, then two linear layers with a GELU between them.
#[derive(Module, Debug)]
struct Layer {
    attention: SelfAttention,
    attention_norm: LayerNorm,
    up: Linear,
    down: Linear,
    output_norm: LayerNorm,
}

impl Layer {
    fn new(sizes: &Sizes, device: &Device) -> Self {
        Self {
            attention: SelfAttention::new(sizes.hidden, sizes.heads, device),
            attention_norm: layer_norm(sizes, device),
            up: LinearConfig::new(sizes.hidden, sizes.intermediate).init(device),
            down: LinearConfig::new(sizes.intermediate, sizes.hidden).init(device),
            output_norm: layer_norm(sizes, device),
        }
    }

    fn forward(&self, x: Tensor<3>, attention: Attention) -> Tensor<3> {
        let attended = self.attention.forward(x.clone(), attention); // (B, S, hidden)
        let x = self.attention_norm.forward(x + attended); // (B, S, hidden)
        let expanded = gelu(self.up.forward(x.clone())); // (B, S, intermediate)
        self.output_norm.forward(x + self.down.forward(expanded))
    }
}

fn layer_norm(sizes: &Sizes, device: &Device) -> LayerNorm {
    LayerNormConfig::new(sizes.hidden)
        .with_epsilon(LAYER_NORM_EPSILON)
        .init(device)
}

/// The mean of (B, S, hidden) over its tokens: (B, hidden).
///
/// sentence-transformers weighs the tokens with the attention mask, to leave padding out. There is
/// none here, so its mask is all ones and the weighted mean is the mean.
fn mean_over_tokens(x: Tensor<3>) -> Tensor<2> {
    // Sums of hundreds of terms, and of squares below: too coarse in 16 bits, and a negligible cost
    // in 32.
    let x = match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(FloatDType::F32),
        _ => x,
    };
    x.mean_dim(1).squeeze_dim(1)
}

/// Scales every row of (B, hidden) to length 1, so that a cosine is a dot product.
fn normalize(x: Tensor<2>) -> Tensor<2> {
    let length = x.clone().square().sum_dim(1).sqrt(); // (B, 1)
    x / length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_is_over_tokens_of_each_sentence() {
        let x = Tensor::<3>::from_data(
            [[[1.0, 2.0], [3.0, 6.0]], [[-1.0, 0.0], [1.0, 8.0]]],
            &Device::flex(),
        );
        let mean: Vec<f32> = mean_over_tokens(x).into_data().iter().collect();
        assert_eq!(mean, [2.0, 4.0, 0.0, 4.0]);
    }

    #[test]
    fn half_precision_is_pooled_in_f32() {
        // 4096 tokens of 1 and one of 4096: f16 holds no odd number above 2048, so a sum in f16
        // stalls.
        let ones = Tensor::<3>::ones([1, 4_095, 1], &Device::flex());
        let last = Tensor::<3>::full([1, 1, 1], 4_097.0, &Device::flex());
        let x = Tensor::cat(vec![ones, last], 1).cast(FloatDType::F16);
        let mean = mean_over_tokens(x);
        assert_eq!(mean.dtype(), DType::F32);
        let mean: Vec<f32> = mean.into_data().iter().collect();
        assert!((mean[0] - 2.0).abs() < 1e-3, "mean is {}", mean[0]);
    }

    #[test]
    fn normalized_rows_have_length_one() {
        let x = Tensor::<2>::from_data([[3.0, 4.0], [0.0, -2.0]], &Device::flex());
        let unit: Vec<f32> = normalize(x).into_data().iter().collect();
        assert_eq!(unit, [0.6, 0.8, 0.0, -1.0]);
    }
}
