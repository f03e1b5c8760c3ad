//! The benchmark; see `fa2_bench::bench`.

use clap::Parser;
use fa2_bench::bench::{BenchArgs, run};

fn main() -> anyhow::Result<()> {
    env_logger::init();
    run(&BenchArgs::parse())
}
