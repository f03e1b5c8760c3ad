//! A GPT trained in Burn, its attention on burn-fa2.
//!
//! A tour, in reading order: `attention` holds the swap; `matrix`, `rotary` and `feed_forward` are
//! the other parts of `model`, which says what is in which precision; `text` and `data` make
//! batches; `schedule`, `optimize` and `trainer` take a step; `checkpoint` and `log` keep a run;
//! `args` and `choices` read the command line into `settings`; `train` strings a run together, and
//! `report`, `plot` and `sample` show what came of it. `compare` trains with two kinds of attention,
//! and `curves` holds them to each other; `bench` times them, after `verify` has checked them, each
//! `measure` in a process of its own.

mod args;
mod attention;
mod bench;
mod checkpoint;
mod choices;
mod compare;
mod curves;
mod data;
mod device;
mod feed_forward;
mod log;
mod matrix;
mod measure;
mod model;
mod optimize;
mod path;
mod plot;
mod progress;
mod record;
mod report;
mod rotary;
mod sample;
mod schedule;
mod settings;
mod sizes;
mod text;
mod train;
mod trainer;
mod verify;

use anyhow::Result;
use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> Result<()> {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    let cli = Cli::parse();
    match &cli.command {
        None => train::run(&cli.train),
        Some(Command::Bench(args)) => bench::run(args),
        Some(Command::Compare(args)) => compare::run(args),
        Some(Command::Measure(args)) => measure::run(args),
    }
}
