//! `ptx-machine run`: from the options to a launch, and to its results.

use crate::error::CommandError;
use crate::grammar::{Argument, Buffer, Extent, Output};
use crate::memory::NamedMemory;
use crate::report::{Format, Report};
use clap::Args;
use ptx_machine::{Launch, LaunchError, Module};
use std::fs;
use std::path::PathBuf;

/// The options of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The PTX.
    file: PathBuf,
    /// The entry function.
    #[arg(long)]
    kernel: String,
    /// Blocks along x, y, z.
    #[arg(long, value_name = "X,Y,Z", default_value = "1,1,1")]
    grid: Extent,
    /// Threads of a block along x, y, z; what the kernel requires, or one.
    #[arg(long, value_name = "X,Y,Z")]
    block: Option<Extent>,
    /// Dynamic shared memory of a block.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: usize,
    /// A buffer: a file's bytes, `zeros:BYTES`, or `uninitialized:BYTES`, which must be written before
    /// they are read.
    #[arg(long = "buffer", value_name = "NAME=CONTENTS")]
    buffers: Vec<Buffer>,
    /// The kernel's next argument: a buffer's name, `u32:V`, `u64:V`, `f32:V`, or `bytes:HEX` for a
    /// structure as it lies in memory.
    #[arg(long = "arg", value_name = "ARGUMENT")]
    arguments: Vec<Argument>,
    /// Where a buffer goes after a clean run.
    #[arg(long = "out", value_name = "NAME=FILE")]
    outputs: Vec<Output>,
    /// How warps take turns: 0 runs each up to its next barrier, any other number at random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Runs under seed 0 and this many others, which must give the same bytes.
    #[arg(long, value_name = "N", conflicts_with = "seed")]
    seeds: Option<u64>,
    /// Prints JSON: an object with `measures`, or with `violations`.
    #[arg(long)]
    json: bool,
}

/// Runs the kernel and prints what came out. Whether it was clean.
pub(crate) fn run(arguments: &RunArgs) -> Result<bool, CommandError> {
    let path = || arguments.file.clone();
    let text = fs::read_to_string(&arguments.file).map_err(|error| CommandError::File {
        path: path(),
        error,
    })?;
    let module = Module::parse(&text).map_err(|error| {
        let path = path();
        CommandError::Parse { path, error }
    })?;
    let named = NamedMemory::new(&arguments.buffers)?;
    named.check(&arguments.outputs)?;
    let launch = Launch::new(&module, &arguments.kernel).map_err(CommandError::Launch)?;
    let launch = launch
        .grid(arguments.grid.0)
        .dynamic_shared(arguments.shared)
        .seed(arguments.seed);
    let launch = match arguments.block {
        Some(Extent(block)) => launch.block(block),
        None => launch,
    };
    let launch = named.pass(&arguments.arguments, launch)?;
    let found = match arguments.seeds {
        Some(seeds) => launch.run_seeds(&named.memory, seeds),
        None => launch.run(&named.memory),
    };
    let report = match found {
        Ok(measures) => {
            named.save(&arguments.outputs)?;
            Report::Measures(measures)
        }
        Err(LaunchError::Violations(violations)) => Report::Violations(violations),
        Err(error) => return Err(CommandError::Launch(error)),
    };
    report.print(if arguments.json {
        Format::Json
    } else {
        Format::Text
    })?;
    Ok(matches!(report, Report::Measures(_)))
}
