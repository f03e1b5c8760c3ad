//! The settings that a command line asks for: a preset, and what differs from it.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::attention::Attention;
use crate::device::Kind;
use crate::settings::{Precision, Settings};
use crate::sizes::Sizes;

/// What decides the curve, beside the attention. What is left out comes from the preset.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    shape: ShapeArgs,

    /// Learn this file instead of the repository
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,

    /// Tokens of a sequence
    #[arg(long, value_name = "N")]
    context: Option<usize>,

    /// Sequences of one forward and backward pass
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// Passes whose gradients make one step
    #[arg(long, value_name = "N")]
    accumulate: Option<usize>,

    /// Steps of the run
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<usize>,

    /// The learning rate at its peak
    #[arg(long, value_name = "RATE")]
    learning_rate: Option<f64>,

    /// Steps until the peak
    #[arg(long, value_name = "STEPS")]
    warm_up: Option<usize>,

    /// AdamW's, of the matrices
    #[arg(long, value_name = "RATE")]
    weight_decay: Option<f32>,

    /// The largest norm of all gradients together
    #[arg(long, value_name = "NORM")]
    clip: Option<f32>,

    /// Decides the first weights and the batches
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// The model's shape and precision.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct ShapeArgs {
    /// Settings to begin with [default: small on a GPU, tiny on a CPU]
    #[arg(long, value_enum)]
    preset: Option<Preset>,

    #[arg(long, value_name = "N")]
    layers: Option<usize>,

    /// Query heads
    #[arg(long, value_name = "N")]
    heads: Option<usize>,

    /// Key/value heads, each shared by several query heads
    #[arg(long, value_name = "N")]
    kv_heads: Option<usize>,

    /// Columns of the residual stream
    #[arg(long, value_name = "N")]
    width: Option<usize>,

    /// The type of matrix products and attention; weights, norms and the loss stay in f32
    /// [default: bf16 on a GPU, f32 on a CPU]
    #[arg(long, value_enum)]
    dtype: Option<Precision>,
}

/// `--preset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// For a CPU: trained in a minute
    Tiny,
    /// For a GPU: about 10 million parameters
    Small,
}

impl ShapeArgs {
    /// The preset with the shape asked for.
    pub(crate) fn settings(&self, kind: Kind) -> Settings {
        let default = Settings::of_device(kind);
        let preset = match self.preset {
            Some(Preset::Tiny) => Settings::tiny(),
            Some(Preset::Small) => Settings::small(),
            None => default.clone(),
        };
        let sizes = preset.sizes;
        Settings {
            sizes: Sizes {
                layers: self.layers.unwrap_or(sizes.layers),
                heads: self.heads.unwrap_or(sizes.heads),
                kv_heads: self.kv_heads.unwrap_or(sizes.kv_heads),
                width: self.width.unwrap_or(sizes.width),
                ..sizes
            },
            // What the device is good at, whatever the size.
            dtype: self.dtype.unwrap_or(default.dtype),
            ..preset
        }
    }
}

impl RunArgs {
    /// The settings asked for, valid.
    pub(crate) fn settings(&self, kind: Kind, attention: Attention) -> Result<Settings> {
        let shape = self.shape.settings(kind);
        let settings = Settings {
            sizes: Sizes {
                context: self.context.unwrap_or(shape.sizes.context),
                ..shape.sizes
            },
            batch: self.batch.unwrap_or(shape.batch),
            accumulate: self.accumulate.unwrap_or(shape.accumulate),
            steps: self.steps.unwrap_or(shape.steps),
            learning_rate: self.learning_rate.unwrap_or(shape.learning_rate),
            warm_up: self.warm_up.unwrap_or(shape.warm_up),
            weight_decay: self.weight_decay.unwrap_or(shape.weight_decay),
            clip: self.clip.unwrap_or(shape.clip),
            seed: self.seed.unwrap_or(shape.seed),
            text: self.text.clone(),
            attention,
            ..shape
        };
        settings.check()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    fn settings(line: &str, kind: Kind) -> Settings {
        let cli = Cli::try_parse_from(line.split(' ')).expect("a valid line");
        let run = cli.train.run;
        run.settings(kind, Attention::Fa2).expect("valid settings")
    }

    #[test]
    fn nothing_asked_for_is_the_devices_preset() {
        assert_eq!(settings("train_gpt", Kind::Cpu), Settings::tiny());
        assert_eq!(settings("train_gpt", Kind::Cuda), Settings::small());
    }

    #[test]
    fn what_is_asked_for_overrides_the_preset() {
        let line = "train_gpt --preset small --kv-heads 3 --batch 5 --dtype f16";
        let asked = settings(line, Kind::Cpu);
        let small = Settings::small();
        let sizes = Sizes {
            kv_heads: 3,
            ..small.sizes
        };
        let expected = Settings {
            sizes,
            batch: 5,
            dtype: Precision::F16,
            ..small
        };
        assert_eq!(asked, expected);
    }
}
