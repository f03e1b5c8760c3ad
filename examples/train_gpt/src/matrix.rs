//! A matrix of weights: kept in f32, multiplied in the precision of the run.

use burn::module::{Module, Param};
use burn::tensor::module::linear;
use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use rand::rngs::StdRng;
use rand_distr::{Distribution, Normal};

/// Weights (inputs, outputs), without a bias.
#[derive(Module, Debug)]
pub(crate) struct Matrix {
    weight: Param<Tensor<2>>,
}

impl Matrix {
    /// Normally distributed weights with a mean of 0.
    ///
    /// They are drawn here and not by Burn, so that a seed means the same model on every device.
    pub(crate) fn draw(
        shape: [usize; 2],
        deviation: f32,
        rng: &mut StdRng,
        device: &Device,
    ) -> Self {
        let normal = Normal::new(0.0, deviation).expect("a deviation is finite");
        let values: Vec<f32> = normal.sample_iter(rng).take(shape[0] * shape[1]).collect();
        Self {
            weight: Param::from_data(TensorData::new(values, shape), device),
        }
    }

    /// `x` (.., inputs) times the weights, both rounded to `dtype`: (.., outputs) in `dtype`.
    ///
    /// The gradient of the weights is computed in `dtype` and arrives in f32.
    pub(crate) fn multiply<const D: usize>(&self, x: Tensor<D>, dtype: FloatDType) -> Tensor<D> {
        linear(x.cast(dtype), self.weight.val().cast(dtype), None)
    }

    /// The same with the weights transposed: `x` (.., outputs) to (.., inputs).
    pub(crate) fn multiply_transposed<const D: usize>(
        &self,
        x: Tensor<D>,
        dtype: FloatDType,
    ) -> Tensor<D> {
        let weight = self.weight.val().cast(dtype).transpose(); // (outputs, inputs)
        linear(x.cast(dtype), weight, None)
    }
}
