//! The benchmark: device time of the forward, of a first call, and host time of a call; and charts
//! of what was measured.

pub mod article;
pub mod backward;
pub mod first_call;
pub mod forward;
pub mod grid;
pub mod machine;
pub mod overhead;
pub mod pace;
pub mod plot;
pub mod pool;
pub mod record;
pub mod shape;
pub mod stock;
pub mod verify;
pub mod window;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measure burn-fa2 on an NVIDIA GPU.
#[derive(Debug, Parser)]
#[command(name = "fa2-bench")]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Device time of the forward over the FlashAttention-2 paper's grid.
    Forward(forward::ForwardArgs),
    /// Device time of the forward over the article's rows, by its method.
    Article(article::ArticleArgs),
    /// Device time of the backward over the same grid.
    Backward(backward::BackwardArgs),
    /// Charts of a record.
    Plot(plot::PlotArgs),
    /// Time of the first call of a kernel in this process, compilation included.
    FirstCall(first_call::FirstCallArgs),
    /// Host time of a call, of the kernel and of the op.
    Overhead(overhead::OverheadArgs),
    /// The conformance suite (the same as fa2-gpu-suite).
    Suite(crate::suite::SuiteArgs),
}

/// Runs the program.
///
/// # Errors
/// Where there is no usable GPU, a result is wrong, or a file can't be written.
pub fn run(args: &BenchArgs) -> Result<()> {
    match &args.command {
        Command::Forward(args) => forward::run(args),
        Command::Article(args) => article::run(args),
        Command::Backward(args) => backward::run(args),
        Command::Plot(args) => plot::run(args),
        Command::FirstCall(args) => first_call::run(args),
        Command::Overhead(args) => overhead::run(args),
        Command::Suite(args) => crate::suite::run(args),
    }
}
