//! One training step after another: the model, its optimizer and the place in the data.

use anyhow::{Context, Result};
use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor};

use crate::data::Data;
use crate::model::Gpt;
use crate::optimize::Optimizer;
use crate::settings::Settings;
use crate::text::Text;

/// Batches of the held-out text that a validation loss is the mean of.
const VALIDATION_BATCHES: usize = 4;

/// A run, as far as it has come.
pub(crate) struct Trainer {
    pub(crate) settings: Settings,
    /// With gradients.
    pub(crate) device: Device,
    pub(crate) model: Gpt,
    pub(crate) optimizer: Optimizer,
    /// Steps done.
    pub(crate) step: usize,
    pub(crate) data: Data,
    /// Of the text that `data` holds.
    pub(crate) fingerprint: u64,
}

impl Trainer {
    /// A run that begins: `device` without gradients, the text of `settings`.
    pub(crate) fn new(settings: Settings, text: Text, device: &Device) -> Result<Self> {
        settings.check()?;
        let device = device.clone().autodiff();
        Ok(Self {
            model: Gpt::new(&settings.sizes, settings.seed, &device),
            optimizer: Optimizer::new(settings.weight_decay, settings.clip),
            step: 0,
            fingerprint: text.fingerprint(),
            data: Data::new(text.bytes, settings.sizes.context)?,
            device,
            settings,
        })
    }

    /// Takes one step. Returns its mean loss, (1) in f32 on the device: nothing waits for it.
    pub(crate) fn step(&mut self) -> Tensor<1> {
        let Settings {
            batch,
            accumulate,
            seed,
            dtype,
            ..
        } = self.settings;
        let scale = dtype.loss_scale();
        let mut sum = GradientsAccumulator::new();
        let mut losses = Vec::with_capacity(accumulate);
        for pass in 0..accumulate {
            let number = (self.step * accumulate + pass) as u64;
            let batch = self.data.training(seed, number, batch, &self.device);
            let loss = self.model.loss(batch, self.settings.compute());
            losses.push(loss.clone().inner());
            let grads = (loss * scale).backward();
            sum.accumulate(&self.model, GradientsParams::from_grads(grads, &self.model));
        }
        let rate = self.settings.schedule().at(self.step);
        let unscale = 1.0 / (scale * accumulate as f32);
        self.model = self
            .optimizer
            .step(rate, self.model.clone(), sum.grads(), unscale);
        self.step += 1;
        Tensor::cat(losses, 0).mean()
    }

    /// Mean loss over the held-out text, in nats a token.
    pub(crate) fn validation_loss(&self) -> Result<f64> {
        let model = self.model.valid();
        let device = self.device.clone().without_autodiff();
        let batches = self
            .data
            .validation(VALIDATION_BATCHES, self.settings.batch, &device);
        let (mut sum, mut sequences) = (0.0, 0);
        for batch in batches {
            let [size, _] = batch.inputs.dims();
            sum += value(model.loss(batch, self.settings.compute()))? * size as f64;
            sequences += size;
        }
        Ok(sum / sequences as f64)
    }
}

/// Waits for the device and reads a loss.
pub(crate) fn value(loss: Tensor<1>) -> Result<f64> {
    Ok(values(vec![loss])?[0])
}

/// Waits for the device and reads losses, in one transfer.
pub(crate) fn values(losses: Vec<Tensor<1>>) -> Result<Vec<f64>> {
    if losses.is_empty() {
        return Ok(Vec::new());
    }
    let data = Tensor::cat(losses, 0)
        .try_into_data()
        .context("the device failed")?;
    Ok(data.iter().collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::attention::Attention;
    use crate::settings::Precision;
    use crate::settings::tests::toy;

    const LINE: &[u8] = b"the quick brown fox jumps over the lazy dog; ";

    /// A run of `settings` on the CPU, over a text with something to learn.
    pub(crate) fn trainer(settings: Settings) -> Trainer {
        let text = Text {
            bytes: LINE.iter().copied().cycle().take(4_000).collect(),
            name: "a line".to_string(),
        };
        Trainer::new(settings, text, &Device::flex()).expect("toy settings are valid")
    }

    /// The losses of the next `steps` steps.
    pub(crate) fn losses(trainer: &mut Trainer, steps: usize) -> Vec<f64> {
        let losses = (0..steps).map(|_| trainer.step()).collect();
        values(losses).expect("a CPU does not fail")
    }

    #[test]
    fn the_loss_begins_at_that_of_a_guess_and_falls() {
        let steps = 60;
        let mut trainer = trainer(Settings { steps, ..toy() });
        let before = trainer.validation_loss().unwrap();
        let losses = losses(&mut trainer, steps);
        // Weights near 0 guess every byte alike.
        assert!((losses[0] - 256_f64.ln()).abs() < 0.1, "{losses:?}");
        assert!((before - 256_f64.ln()).abs() < 0.1, "{before}");
        // Better than the frequencies of the letters tell: it has learned what follows what.
        let frequency = |byte: &u8| LINE.iter().filter(|other| *other == byte).count() as f64;
        let nats = |byte| -(frequency(byte) / LINE.len() as f64).ln();
        let entropy = LINE.iter().map(nats).sum::<f64>() / LINE.len() as f64;
        let after = trainer.validation_loss().unwrap();
        assert!(
            after < entropy,
            "{after} where letters alone give {entropy}"
        );
    }

    #[test]
    fn a_seed_means_a_curve() {
        let run = |seed| losses(&mut trainer(Settings { seed, ..toy() }), 3);
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn accumulated_passes_make_the_step_of_one_large_batch() {
        // The gradient of a mean over four sequences is the mean of those over two and two; only
        // the order of the sums differs. The batches are drawn apart, so the text has one window.
        let run = |batch, accumulate| {
            let bytes = vec![b'a'; 4_000];
            let name = String::new();
            let settings = Settings {
                batch,
                accumulate,
                ..toy()
            };
            let text = Text { bytes, name };
            let mut trainer = Trainer::new(settings, text, &Device::flex()).unwrap();
            losses(&mut trainer, 4)
        };
        for (one, other) in run(4, 1).iter().zip(run(2, 2)) {
            assert!((one - other).abs() < 1e-4, "{one} and {other}");
        }
    }

    #[test]
    fn every_precision_learns() {
        let run = |dtype| losses(&mut trainer(Settings { dtype, ..toy() }), 6);
        let exact = run(Precision::F32);
        for dtype in [Precision::Bf16, Precision::F16] {
            for (rounded, exact) in run(dtype).iter().zip(&exact) {
                // Below the fall of the loss over these steps, far above a rounding.
                assert!(
                    (rounded - exact).abs() < 0.1,
                    "{dtype:?}: {rounded} for {exact}"
                );
            }
        }
    }

    #[test]
    fn every_attention_is_trained_through() {
        let run = |attention| losses(&mut trainer(Settings { attention, ..toy() }), 3);
        let stock = run(Attention::Burn);
        for attention in [Attention::Fa2, Attention::Composed] {
            for (other, stock) in run(attention).iter().zip(&stock) {
                assert!((other - stock).abs() < 1e-4, "{attention:?}");
            }
        }
    }
}
