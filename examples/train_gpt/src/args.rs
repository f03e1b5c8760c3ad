//! What the command line asks for.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

use crate::attention::Attention;
use crate::bench::BenchArgs;
use crate::choices::RunArgs;
use crate::compare::CompareArgs;
use crate::device::DeviceArg;
use crate::measure::MeasureArgs;

/// Train a GPT on text, its attention on burn-fa2.
///
/// Without arguments it learns the sources and documents of this repository: a model of 10 million
/// parameters on an NVIDIA GPU, a tiny one on a CPU.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) train: TrainArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure tokens a second and peak memory by attention and length, each in its own process
    Bench(BenchArgs),
    /// Train twice with two kinds of attention, and fail where the loss curves part
    Compare(CompareArgs),
    /// One measurement of `bench`
    #[command(hide = true)]
    Measure(MeasureArgs),
}

/// A run.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// The op that computes attention [default: fa2]
    #[arg(long, value_enum)]
    pub(crate) attention: Option<Attention>,

    /// Where to run
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto)]
    pub(crate) device: DeviceArg,

    /// Where checkpoints, the log and the plot go
    #[arg(long, value_name = "DIR", default_value = "target/train_gpt")]
    pub(crate) out: PathBuf,

    /// Continue the run in --out from its last checkpoint, with the settings that it began with
    #[arg(long)]
    pub(crate) resume: bool,

    /// Steps between two lines of the log
    #[arg(long, value_name = "STEPS", default_value_t = 10)]
    pub(crate) log_every: usize,

    /// Steps between two losses on the held-out text
    #[arg(long, value_name = "STEPS", default_value_t = 100)]
    pub(crate) validate_every: usize,

    /// Steps between two checkpoints; there is always one at the end
    #[arg(long, value_name = "STEPS", default_value_t = 100)]
    pub(crate) checkpoint_every: usize,

    /// What the GPU can do at most in this precision, to show the share that training reaches
    #[arg(long, value_name = "TFLOP/S")]
    pub(crate) peak_tflops: Option<f64>,

    /// Bytes to write with the trained model
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub(crate) sample: usize,

    /// What the sample continues
    #[arg(long, value_name = "TEXT", default_value = "pub fn ")]
    pub(crate) prompt: String,

    /// How freely the sample is drawn: towards 0, always the likeliest byte
    #[arg(long, value_name = "T", default_value_t = 0.8)]
    pub(crate) temperature: f64,
}

impl TrainArgs {
    /// Refuses arguments that contradict each other or mean nothing.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, every) in [
            ("--log-every", self.log_every),
            ("--validate-every", self.validate_every),
            ("--checkpoint-every", self.checkpoint_every),
        ] {
            ensure!(every > 0, "{name} 0: every how many steps?");
        }
        let asks_for_settings = self.run != RunArgs::default() || self.attention.is_some();
        ensure!(
            !(self.resume && asks_for_settings),
            "--resume takes model, text and training from the checkpoint: \
             leave their arguments out, or begin another run without --resume"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_resumed_run_takes_no_other_settings() {
        let check = |line: &str| {
            let line = format!("train_gpt {line}");
            let cli = Cli::try_parse_from(line.split(' ')).expect("a valid line");
            cli.train.check()
        };
        for line in ["--seed 3", "--width 64", "--attention burn"] {
            let error = check(&format!("--resume {line}")).unwrap_err();
            assert!(error.to_string().contains("checkpoint"), "{error}");
            check(line).expect("without --resume they are settings");
        }
        check("--resume --out there --device cpu --sample 10").expect("these are no settings");
        let error = check("--log-every 0").unwrap_err();
        assert!(error.to_string().contains("--log-every"), "{error}");
    }
}
