//! Text from a trained model, one byte after another.

use anyhow::{Context, Result, ensure};
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::StdRng;

use crate::attention::Compute;
use crate::model::Gpt;
use crate::sizes::VOCABULARY;

/// How a sample is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Bytes to add.
    pub(crate) count: usize,
    /// Logits are divided by it; 0 takes the largest.
    pub(crate) temperature: f64,
    /// Tokens that the model sees at most.
    pub(crate) context: usize,
}

/// Continues `prompt` with `model` (without gradients), and returns both.
///
/// Every byte is a forward pass over a full context: the text, then zeros, which the causal mask
/// hides from it. One shape only means that a GPU's kernels are compiled and tuned once.
pub(crate) fn generate(
    model: &Gpt,
    compute: Compute,
    prompt: &[u8],
    sampling: Sampling,
    rng: &mut StdRng,
    device: &Device,
) -> Result<Vec<u8>> {
    ensure!(
        !prompt.is_empty(),
        "--prompt is empty: it takes a byte to continue"
    );
    let mut text = prompt.to_vec();
    for _ in 0..sampling.count {
        let seen = &text[text.len().saturating_sub(sampling.context)..];
        let mut ids: Vec<i32> = seen.iter().map(|&byte| i32::from(byte)).collect();
        ids.resize(sampling.context, 0);
        let data = TensorData::new(ids, [1, sampling.context]);
        let tokens = Tensor::<2, Int>::from_data(data, device);
        let last = seen.len() - 1;
        let logits = model
            .logits(tokens, compute) // (1, context, vocabulary)
            .slice_dim(1, last..=last)
            .try_into_data()
            .context("the device failed while sampling")?;
        let logits: Vec<f64> = logits.iter().collect();
        text.push(draw(&logits, sampling.temperature, rng)?);
    }
    Ok(text)
}

/// One byte by its logits.
fn draw(logits: &[f64], temperature: f64, rng: &mut StdRng) -> Result<u8> {
    debug_assert_eq!(logits.len(), VOCABULARY);
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    ensure!(largest.is_finite(), "the model's logits are not finite");
    let weights = logits.iter().map(|logit| match temperature > 0.0 {
        true => ((logit - largest) / temperature).exp(),
        false => f64::from(u8::from(*logit == largest)),
    });
    let byte = WeightedIndex::new(weights)?.sample(rng);
    Ok(u8::try_from(byte)?)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::settings::tests::toy;
    use crate::sizes::tests::TOY;

    fn logits(pairs: &[(u8, f64)]) -> Vec<f64> {
        let mut logits = vec![-1e9; VOCABULARY];
        for (byte, logit) in pairs {
            logits[usize::from(*byte)] = *logit;
        }
        logits
    }

    #[test]
    fn temperature_decides_between_the_likeliest_byte_and_chance() {
        let rng = &mut StdRng::seed_from_u64(1);
        let logits = logits(&[(b'a', 1.0), (b'b', 0.0)]);
        let mut share_of_a = |temperature| {
            let drawn = (0..2_000).filter(|_| draw(&logits, temperature, rng).unwrap() == b'a');
            drawn.count() as f64 / 2_000.0
        };
        assert_eq!(share_of_a(0.0), 1.0);
        // e / (e + 1) = 0.731, and 6 standard deviations of 2000 draws.
        assert!((share_of_a(1.0) - 0.731).abs() < 0.06);
        assert!((share_of_a(1e6) - 0.5).abs() < 0.07);
    }

    #[test]
    fn a_sample_begins_with_its_prompt_and_outgrows_the_context() {
        let device = Device::flex();
        let model = Gpt::new(&TOY, 3, &device);
        let sampling = Sampling {
            count: TOY.context,
            temperature: 1.0,
            context: TOY.context,
        };
        let sample = |prompt: &[u8]| {
            let rng = &mut StdRng::seed_from_u64(1);
            generate(&model, toy().compute(), prompt, sampling, rng, &device)
        };
        let text = sample(b"prompt").unwrap();
        assert!(text.starts_with(b"prompt"));
        assert_eq!(text.len(), 6 + TOY.context);
        assert!(sample(b"").is_err());
    }
}
