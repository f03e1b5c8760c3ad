//! `ptx-machine`: runs a kernel of a PTX file on the CPU, checks it, and prints what it measured.

mod error;
mod grammar;
mod memory;
mod report;
mod run;

use clap::{Parser, Subcommand};
use run::RunArgs;
use std::process::ExitCode;

/// Runs PTX on the CPU, and checks it.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs one kernel: 0 if it is clean, 1 if a check found a violation, 2 if it could not run.
    Run(RunArgs),
}

/// A check found something.
const VIOLATION: u8 = 1;
/// The kernel could not run, or its results could not be had; clap uses the same for a wrong option.
const FAILURE: u8 = 2;

fn main() -> ExitCode {
    let Command::Run(arguments) = Cli::parse().command;
    match run::run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(VIOLATION),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(FAILURE)
        }
    }
}
