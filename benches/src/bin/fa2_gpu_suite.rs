//! Runs the conformance suite on a GPU; see `fa2_bench::suite`.

use clap::Parser;
use fa2_bench::suite::{SuiteArgs, run};

fn main() -> anyhow::Result<()> {
    env_logger::init();
    run(&SuiteArgs::parse())
}
