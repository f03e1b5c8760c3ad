//! Whether an attention is right, output and gradients, before it is timed.
//!
//! The rule is the one of this project: the largest error against f64 is at most twice that of the
//! composed path in the same precision, plus one rounding.

use anyhow::{Result, ensure};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};

use crate::attention::Attention;
use crate::settings::Settings;

/// Tokens of the checked sequence: several blocks of a kernel, and not a multiple of one.
const LENGTH: usize = 201;
/// Any seed does.
const SEED: u64 = 7;

/// The output and the gradients of query, key and value, on the host.
type Results = [Vec<f64>; 4];
const NAMES: [&str; 4] = ["output", "query gradient", "key gradient", "value gradient"];

/// Checks the attention of `settings` on `device`, for its heads in its precision.
pub(crate) fn check(settings: &Settings, device: &Device) -> Result<()> {
    let inputs = Inputs::draw(settings);
    let dtype = settings.dtype.dtype();
    let truth = inputs.run(Attention::Composed, FloatDType::F64, &Device::flex());
    let candidate = inputs.run(settings.attention, dtype, device);
    let composed = inputs.run(Attention::Composed, dtype, device);
    let unit = f64::from(settings.dtype.unit());
    for (index, name) in NAMES.into_iter().enumerate() {
        let truth = &truth[index];
        let largest = truth
            .iter()
            .fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let allowed = 2.0 * error(&composed[index], truth) + unit * largest;
        let error = error(&candidate[index], truth);
        // A NaN fails too.
        ensure!(
            error <= allowed,
            "{} attention has a wrong {name}: off by {error:.3e} where {allowed:.3e} is allowed",
            settings.attention.name()
        );
    }
    Ok(())
}

/// Query, key, value and the gradient of the output, rounded to the precision that is checked.
struct Inputs {
    tensors: [(Vec<f64>, [usize; 4]); 4],
}

impl Inputs {
    fn draw(settings: &Settings) -> Self {
        let rng = &mut StdRng::seed_from_u64(SEED);
        let sizes = &settings.sizes;
        let dtype = settings.dtype.dtype();
        let tensors = [sizes.heads, sizes.kv_heads, sizes.kv_heads, sizes.heads].map(|heads| {
            let shape = [1, heads, LENGTH, sizes.head_dim()];
            let count = shape.iter().product();
            let values: Vec<f32> = StandardNormal.sample_iter(&mut *rng).take(count).collect();
            let values = TensorData::new(values, shape);
            let rounded = Tensor::<4>::from_data(values, &Device::flex()).cast(dtype);
            (values_of(rounded), shape)
        });
        Self { tensors }
    }

    /// Forward and backward through `attention`, computed in `dtype`.
    fn run(&self, attention: Attention, dtype: FloatDType, device: &Device) -> Results {
        let device = device.clone().autodiff();
        let [q, k, v, d_o] = [0, 1, 2, 3].map(|index| {
            let (values, shape) = &self.tensors[index];
            let data = TensorData::new(values.clone(), *shape);
            Tensor::<4>::from_data(data, (&device, DType::from(dtype))) // (1, H, S, D)
        });
        let [q, k, v] = [q, k, v].map(Tensor::require_grad);
        let o = attention.attend(q.clone(), k.clone(), v.clone()); // (1, H, S, D)
        // The sum is of no interest: its gradient by o is d_o.
        let grads = (o.clone() * d_o).sum().backward();
        let [dq, dk, dv] = [q, k, v].map(|x| x.grad(&grads).map_or_else(Vec::new, values_of));
        [values_of(o.inner()), dq, dk, dv]
    }
}

fn values_of(tensor: Tensor<4>) -> Vec<f64> {
    tensor.into_data().iter().collect()
}

/// The largest difference; infinite where there is nothing to compare.
fn error(values: &[f64], truth: &[f64]) -> f64 {
    if values.len() != truth.len() {
        return f64::INFINITY;
    }
    let gaps = values
        .iter()
        .zip(truth)
        .map(|(value, truth)| (value - truth).abs());
    // `f64::max` would pass over a NaN.
    gaps.fold(0.0, |largest: f64, gap| {
        match largest.is_nan() || gap <= largest {
            true => largest,
            false => gap,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Precision;
    use crate::settings::tests::toy;

    #[test]
    fn every_attention_passes_in_every_precision() {
        for attention in [Attention::Fa2, Attention::Burn, Attention::Composed] {
            for dtype in [Precision::F32, Precision::Bf16, Precision::F16] {
                let settings = Settings {
                    attention,
                    dtype,
                    ..toy()
                };
                check(&settings, &Device::flex()).unwrap();
            }
        }
    }

    #[test]
    fn a_missing_a_wrong_and_a_nan_result_are_errors() {
        assert_eq!(error(&[], &[1.0]), f64::INFINITY);
        assert_eq!(error(&[1.0, 2.5], &[1.0, 2.0]), 0.5);
        assert!(error(&[1.0, f64::NAN], &[1.0, 2.0]).is_nan());
        assert!(error(&[f64::NAN, 1.0], &[1.0, 1.0]).is_nan());
    }
}
