//! What decides a run's loss curve, as it is kept with its checkpoints.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use burn::tensor::FloatDType;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::attention::{Attention, Compute};
use crate::device::Kind;
use crate::schedule::Schedule;
use crate::sizes::Sizes;

/// Gradients of a mean over thousands of tokens are below what f16 holds: they are computed for the
/// loss times this, and divided by it in f32.
const F16_LOSS_SCALE: f32 = 1024.0;

/// The type of the matrix products and of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Precision {
    F32,
    Bf16,
    F16,
}

impl Precision {
    /// The name on the command line and in records.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        }
    }

    pub(crate) fn dtype(self) -> FloatDType {
        match self {
            Self::F32 => FloatDType::F32,
            Self::Bf16 => FloatDType::BF16,
            Self::F16 => FloatDType::F16,
        }
    }

    /// The largest relative error of one rounding.
    pub(crate) fn unit(self) -> f32 {
        match self {
            Self::F32 => 2_f32.powi(-24),
            Self::Bf16 => 2_f32.powi(-8),
            Self::F16 => 2_f32.powi(-11),
        }
    }

    /// What the loss is multiplied by before the backward pass.
    pub(crate) fn loss_scale(self) -> f32 {
        match self {
            Self::F32 | Self::Bf16 => 1.0,
            Self::F16 => F16_LOSS_SCALE,
        }
    }
}

/// A model, a text and how the one learns the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) sizes: Sizes,
    /// Sequences of one forward and backward pass.
    pub(crate) batch: usize,
    /// Passes whose gradients make one step.
    pub(crate) accumulate: usize,
    pub(crate) steps: usize,
    pub(crate) learning_rate: f64,
    pub(crate) warm_up: usize,
    pub(crate) weight_decay: f32,
    /// The largest norm of all gradients together.
    pub(crate) clip: f32,
    pub(crate) seed: u64,
    pub(crate) attention: Attention,
    pub(crate) dtype: Precision,
    /// The repository's own text where there is none.
    pub(crate) text: Option<PathBuf>,
}

impl Settings {
    /// A model that a CPU trains in a minute.
    pub(crate) fn tiny() -> Self {
        Self {
            sizes: Sizes {
                layers: 3,
                heads: 4,
                kv_heads: 2,
                width: 64,
                context: 128,
            },
            batch: 8,
            accumulate: 1,
            steps: 400,
            learning_rate: 3e-3,
            warm_up: 40,
            weight_decay: 0.1,
            clip: 1.0,
            seed: 1,
            attention: Attention::Fa2,
            dtype: Precision::F32,
            text: None,
        }
    }

    /// About 10 million parameters, for a GPU.
    pub(crate) fn small() -> Self {
        Self {
            sizes: Sizes {
                layers: 6,
                heads: 6,
                kv_heads: 2,
                width: 384,
                context: 2_048,
            },
            steps: 1_000,
            learning_rate: 1e-3,
            warm_up: 100,
            dtype: Precision::Bf16,
            ..Self::tiny()
        }
    }

    /// What a device runs where nothing is asked for.
    pub(crate) fn of_device(kind: Kind) -> Self {
        match kind {
            Kind::Cpu => Self::tiny(),
            Kind::Cuda => Self::small(),
        }
    }

    /// Refuses settings that make no run.
    pub(crate) fn check(&self) -> Result<()> {
        self.sizes.check()?;
        ensure!(
            self.batch > 0,
            "--batch 0: a step sees at least one sequence"
        );
        ensure!(
            self.accumulate > 0,
            "--accumulate 0: a step has at least one pass"
        );
        let is_positive = |x: f64| x.is_finite() && x > 0.0;
        ensure!(
            is_positive(self.learning_rate),
            "--learning-rate {} is not a positive number",
            self.learning_rate
        );
        ensure!(
            is_positive(f64::from(self.clip)),
            "--clip {} is not a positive number",
            self.clip
        );
        ensure!(
            self.weight_decay.is_finite() && self.weight_decay >= 0.0,
            "--weight-decay {} is below 0 or not finite",
            self.weight_decay
        );
        Ok(())
    }

    pub(crate) fn schedule(&self) -> Schedule {
        Schedule {
            peak: self.learning_rate,
            warm_up: self.warm_up,
            steps: self.steps,
        }
    }

    pub(crate) fn compute(&self) -> Compute {
        Compute {
            attention: self.attention,
            dtype: self.dtype.dtype(),
        }
    }

    /// Tokens that one step learns from.
    pub(crate) fn tokens_per_step(&self) -> usize {
        self.batch * self.accumulate * self.sizes.context
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sizes::tests::TOY;

    /// A run of a few seconds.
    pub(crate) fn toy() -> Settings {
        Settings {
            sizes: TOY,
            batch: 2,
            steps: 6,
            warm_up: 2,
            ..Settings::tiny()
        }
    }

    #[test]
    fn presets_are_valid_and_the_small_one_has_about_ten_million_parameters() {
        for settings in [Settings::tiny(), Settings::small()] {
            settings.check().expect("a preset is valid");
        }
        let millions = Settings::small().sizes.parameters() as f64 / 1e6;
        assert!((8.0..12.0).contains(&millions), "{millions}");
    }

    #[test]
    fn settings_that_make_no_run_are_refused_by_name() {
        for (settings, name) in [
            (Settings { batch: 0, ..toy() }, "--batch"),
            (
                Settings {
                    accumulate: 0,
                    ..toy()
                },
                "--accumulate",
            ),
            (
                Settings {
                    learning_rate: 0.0,
                    ..toy()
                },
                "--learning-rate",
            ),
            (
                Settings {
                    clip: f32::NAN,
                    ..toy()
                },
                "--clip",
            ),
            (
                Settings {
                    weight_decay: -0.1,
                    ..toy()
                },
                "--weight-decay",
            ),
        ] {
            let error = settings.check().expect_err(name).to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn units_are_those_of_the_types() {
        use burn::tensor::DType;

        for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
            let finfo = DType::from(precision.dtype()).finfo().expect("a float");
            assert_eq!(f64::from(precision.unit()), finfo.epsilon / 2.0);
        }
    }
}
