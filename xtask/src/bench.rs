//! `cargo xtask bench`: our speed on this machine's NVIDIA GPU, then that of PyTorch's kernels.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{binary, gpu, process, progress, setup, workspace};

/// What to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Implementations of ours, separated by commas: cubecl, hopper, cute. Without it, cubecl and, where the
    /// GPU is a Hopper one, hopper.
    #[arg(long, value_delimiter = ',')]
    paths: Vec<String>,
    /// Shapes, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["paper"])]
    grids: Vec<Grid>,
    /// Refuse any GPU but an Ampere one.
    #[arg(long)]
    require_ampere: bool,
    /// Folder for records and charts.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Run `fa2-bench` with these arguments instead, such as `-- overhead`; `-- --help` lists them.
    #[arg(last = true, value_name = "ARGS")]
    raw: Vec<OsString>,
}

/// A set of shapes.
#[derive(Clone, Copy, ValueEnum)]
enum Grid {
    /// The FlashAttention-2 paper's: 16k tokens, 2048 columns over all heads.
    Paper,
    /// The article's rows, in the article's way.
    Article,
}

impl Grid {
    fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Article => "article",
        }
    }

    /// What `fa2-bench` is called with.
    fn command(self) -> &'static [&'static str] {
        match self {
            // Burn's own attention too, where the goal is stated.
            Self::Paper => &["forward", "--stock", "4096"],
            Self::Article => &["article"],
        }
    }

    /// What of the record is drawn.
    fn drawn(self) -> &'static [&'static str] {
        match self {
            Self::Paper => &[],
            // The rows with one head are a line over the length; the other two are points.
            Self::Article => &["--heads", "1"],
        }
    }

    /// Name of the record.
    fn record(self) -> &'static str {
        match self {
            Self::Paper => "forward.json",
            Self::Article => "article.json",
        }
    }
}

/// Measures each grid, then PyTorch's kernels at the same shapes where PyTorch is installed; writes
/// the records and draws their charts.
pub(crate) fn run(options: &Options) -> Result<()> {
    gpu::require()?;
    setup::for_building()?;
    let has_cute = options.paths.iter().any(|path| path == "cute");
    let build = || match has_cute {
        true => binary::build_with_kernels("fa2-bench"),
        false => binary::build("fa2-bench"),
    };
    if !options.raw.is_empty() {
        return process::stream(build()?.args(&options.raw));
    }
    std::fs::create_dir_all(&options.out)?;
    for &grid in &options.grids {
        let mut bench = build()?;
        progress::heading(&format!("Measuring ours: {} grid", grid.name()));
        let record = options.out.join(grid.record());
        bench.args(grid.command());
        // Without the CuTe kernels, which are built where they are asked for, `fa2-bench` takes the others.
        if !options.paths.is_empty() {
            bench.args(["--paths", &options.paths.join(",")]);
        }
        bench.arg("--out").arg(&record);
        if options.require_ampere {
            bench.arg("--require-ampere");
        }
        process::stream(&mut bench)?;
        peers(grid, &record)?;
        let mut plot = build()?;
        let charts = record.with_extension("");
        plot.arg("plot").arg(&record).arg("--out").arg(charts);
        process::stream(plot.args(grid.drawn()))?;
    }
    Ok(())
}

/// Adds to `record` the rows of PyTorch, and of FlashAttention-3 and -4 where their packages are installed.
fn peers(grid: Grid, record: &Path) -> Result<()> {
    if process::capture(process::python().args(["-c", "import torch"])).is_err() {
        progress::note("peers skipped: this Python has no torch (python3 -m pip install torch)");
        return Ok(());
    }
    progress::heading("Measuring the peers' kernels");
    process::stream(
        process::python()
            .arg(workspace::root().join("benches/peers.py"))
            .args(["--grid", grid.name(), "--merge"])
            .arg(record)
            .arg("--out")
            .arg(record),
    )
}
