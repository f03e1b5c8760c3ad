//! The project's commands, as `cargo xtask COMMAND`: what a person or CI runs, and nothing else does.

mod bench;
mod binary;
mod check;
mod demo;
mod gpu;
mod kernels;
mod layout;
mod process;
mod progress;
mod ptx;
mod setup;
mod test;
mod tidy;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

/// The commands of burn-fa2.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Embed sentences with MiniLM-L6, its attention going through burn-fa2.
    Demo(Arguments),
    /// Pass every test that needs no GPU.
    Test,
    /// Check format, structure, lints, documentation and the light build.
    Check,
    /// Check the rules of STYLE.md and ARCHITECTURE.md that a program can check.
    Tidy,
    /// Prepare what a build and the code checks need; the other commands do it by themselves.
    Setup,
    /// Run the conformance suite on this machine's NVIDIA GPU.
    Gpu(Arguments),
    /// Measure the speed on this machine's NVIDIA GPU, against PyTorch where it is installed.
    Bench(bench::Options),
    /// Compile a kernel configuration without a GPU: registers, spills, SASS census, and its measures in
    /// the PTX machine.
    Ptx(Arguments),
    /// Compile the CUDA C++ kernels without a GPU: registers and spills of each.
    Kernels,
    /// Print or draw an index map of the kernels: its layout, its formula, and who owns what.
    Layout(layout::Options),
}

/// Arguments that go to the program behind the command as they are.
#[derive(clap::Args)]
struct Arguments {
    /// Arguments of the program behind the command; `-- --help` lists them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    rest: Vec<OsString>,
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Every cause on a line, and no backtrace: a failure here is for the user to act on.
            eprintln!("error: {error}");
            error
                .chain()
                .skip(1)
                .for_each(|cause| eprintln!("  because: {cause}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments.rest),
        Command::Test => test::run(&command_names()),
        Command::Check => check::run(&command_names()),
        Command::Tidy => tidy::run(&command_names()),
        Command::Setup => setup::for_code_checks().map(drop),
        Command::Gpu(arguments) => gpu::run(&arguments.rest),
        Command::Bench(options) => bench::run(options),
        Command::Ptx(arguments) => ptx::run(&arguments.rest),
        Command::Kernels => kernels::run(),
        Command::Layout(options) => layout::run(options),
    }
}

/// The commands that exist; tidy holds README.md to them.
fn command_names() -> Vec<String> {
    Cli::command()
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}
