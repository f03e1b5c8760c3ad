//! SwiGLU: `down(silu(gate(x)) * up(x))`.

use burn::module::Module;
use burn::tensor::activation::silu;
use burn::tensor::{Device, FloatDType, Tensor};
use rand::rngs::StdRng;

use crate::matrix::Matrix;
use crate::sizes::Sizes;

/// The three matrices, without the norm before and the residual after.
#[derive(Module, Debug)]
pub(crate) struct FeedForward {
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

impl FeedForward {
    /// Weights with the deviation `inner`, those of the last matrix with `last`.
    pub(crate) fn new(
        sizes: &Sizes,
        [inner, last]: [f32; 2],
        rng: &mut StdRng,
        device: &Device,
    ) -> Self {
        let (width, hidden) = (sizes.width, sizes.hidden());
        Self {
            gate: Matrix::draw([width, hidden], inner, rng, device),
            up: Matrix::draw([width, hidden], inner, rng, device),
            down: Matrix::draw([hidden, width], last, rng, device),
        }
    }

    /// Maps (B, S, width) to (B, S, width) in `dtype`; the product of gate and value is in `dtype`
    /// too.
    pub(crate) fn forward(&self, x: Tensor<3>, dtype: FloatDType) -> Tensor<3> {
        let x = x.cast(dtype);
        let gate = silu(self.gate.multiply(x.clone(), dtype)); // (B, S, hidden)
        let up = self.up.multiply(x, dtype); // (B, S, hidden)
        self.down.multiply(gate * up, dtype)
    }
}
