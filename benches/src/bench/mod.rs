//! The benchmark: device time of the forward, of a first call, and host time of a call.

pub mod first_call;
pub mod forward;
pub mod overhead;
pub mod pool;
pub mod record;
pub mod shape;
pub mod stock;
pub mod verify;

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
    /// Device time of the forward over a grid of shapes.
    Forward(forward::ForwardArgs),
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
        Command::FirstCall(args) => first_call::run(args),
        Command::Overhead(args) => overhead::run(args),
        Command::Suite(args) => crate::suite::run(args),
    }
}
