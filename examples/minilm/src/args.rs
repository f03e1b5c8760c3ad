//! What the command line asks for.

use std::path::PathBuf;

use burn::tensor::FloatDType;
use clap::{Parser, ValueEnum};

/// Sentence embeddings with MiniLM-L6, its attention on burn-fa2.
///
/// Embeds sentences, ranks them by meaning, checks the result against Burn's own attention and
/// against f64, and on an NVIDIA GPU times both.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Args {
    /// The folder with model.safetensors and tokenizer.json; `cargo xtask demo` fills the default
    /// one
    #[arg(long, value_name = "DIR", default_value = "target/models/minilm-l6")]
    pub(crate) model: PathBuf,

    /// Run a small model with random weights instead: its ranking means nothing, its checks do
    #[arg(long, conflicts_with = "model")]
    pub(crate) random: bool,

    /// Sentences to embed, one a line, instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    pub(crate) text: Option<PathBuf>,

    /// Rank the sentences against this one instead of all pairs
    #[arg(long, value_name = "TEXT")]
    pub(crate) query: Option<String>,

    /// How many rows of the ranking to print
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,

    /// Write the embeddings here: a sentence a line, its numbers separated by spaces
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    /// Where to run
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto)]
    pub(crate) device: DeviceArg,

    /// What to run in [default: f32 on a CPU, f16 and bf16 on a GPU]
    #[arg(long, value_enum)]
    pub(crate) dtype: Option<DTypeArg>,

    /// On a GPU, time the whole model too: Burn then tunes its other kernels first, for minutes
    #[arg(long)]
    pub(crate) whole_model: bool,
}

/// `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceArg {
    /// The first NVIDIA GPU, or the CPU where there is none
    Auto,
    /// Burn's CPU backend, Flex
    Cpu,
    /// The first NVIDIA GPU
    Cuda,
}

/// `--dtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DTypeArg {
    F32,
    F16,
    Bf16,
    /// One after the other
    All,
}

impl DTypeArg {
    /// The types this asks for, in the order to run them.
    pub(crate) fn dtypes(self) -> &'static [FloatDType] {
        match self {
            Self::F32 => &[FloatDType::F32],
            Self::F16 => &[FloatDType::F16],
            Self::Bf16 => &[FloatDType::BF16],
            Self::All => &[FloatDType::F32, FloatDType::F16, FloatDType::BF16],
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
