//! Shows the code of a kernel configuration; see `fa2_bench::ptx`.

use clap::Parser;
use fa2_bench::ptx::{PtxArgs, run};

fn main() -> anyhow::Result<()> {
    run(&PtxArgs::parse())
}
