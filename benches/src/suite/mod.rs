//! The conformance suite on a GPU: the kernels against the f64 oracle, poisoned and repeated.

pub mod article;
pub mod backward;
pub mod buffers;
pub mod choice;
pub mod conformance;
pub mod extras;
pub mod fragment_map;
pub mod gradients;
pub mod graph;
pub mod large;
pub mod loaded;
pub mod memory;
pub mod op;
pub mod ordering;
pub mod passes;
pub mod plans;
pub mod repeat;
pub mod shard;
pub mod strides;
pub mod tally;
pub mod threads;

use crate::arguments::DtypeArg;
use crate::engine::{EngineArg, asked_or_there, has_cute};
use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Element as BurnElement;
use clap::{Parser, ValueEnum};
use cubecl::client::Client;
use fa2_cubecl::Gpu;
use fa2_machine::KernelElement;
use half::{bf16, f16};
use indicatif::{ProgressBar, ProgressStyle};
use shard::Shard;
use tally::Tally;

/// Run the conformance suite on an NVIDIA GPU.
#[derive(Clone, Debug, Parser)]
#[command(name = "fa2-gpu-suite")]
pub struct SuiteArgs {
    /// Only cases whose name holds this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Only cases with at most this many query-key products (for compute-sanitizer).
    #[arg(long)]
    max_products: Option<usize>,
    /// Index of the CUDA device.
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Repeats of the bitwise test.
    #[arg(long, default_value_t = 200)]
    repeats: usize,
    /// Plans that the heuristics choose, and no forced ones.
    #[arg(long)]
    chosen_only: bool,
    /// A line for each check that ends, with the seconds since the start: of a run that doesn't end, they say where it is.
    #[arg(long)]
    verbose: bool,
    /// Only these parts; without it, all.
    #[arg(long, value_enum, value_delimiter = ',')]
    parts: Vec<Part>,
    /// Only a share of the grid's cases, "I/N" with I from 1 to N: those of N runs side by side, on one GPU
    /// or on several, are all of them. Cases that share kernels stay together. Checks outside the grid run
    /// in every share.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
    /// Element types to check.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [DtypeArg::F16, DtypeArg::Bf16])]
    dtypes: Vec<DtypeArg>,
    /// Engines to check; without it, all that this build has and the GPU runs.
    #[arg(long, value_enum, value_delimiter = ',')]
    engines: Vec<EngineArg>,
    /// Compute capability of the GPU, found when the suite starts.
    #[arg(skip)]
    sm: u32,
}

/// A part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The fragment map, the grid and the article's shapes.
    Forward,
    /// The same launch many times: in its memory, in memory that moves, and replayed as a graph.
    Repeat,
    /// Both compilers' kernels in one stream.
    Ordering,
    /// The op through Burn.
    Op,
    /// The gradients, of the kernels and of the op.
    Backward,
    /// Memory of a call, and tensors of over 2^31 elements.
    Large,
}

impl SuiteArgs {
    fn has(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    fn device(&self) -> usize {
        self.device
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn engines(&self) -> impl Iterator<Item = EngineArg> + '_ {
        asked_or_there(&self.engines, self.sm)
    }

    fn selects(&self, case: &fa2_testing::Case) -> bool {
        self.shard.holds(case)
            && case.name.contains(&self.filter)
            && self.max_products.is_none_or(|most| case.products() <= most)
    }
}

/// Runs the suite and prints the tally.
///
/// # Errors
/// Where there is no usable GPU, or a check failed.
pub fn run(args: &SuiteArgs) -> Result<()> {
    let device = cubecl::Device::cuda(args.device).context("no CUDA device")?;
    let client = device.client();
    let gpu = fa2_cubecl::gpu(&client)?;
    println!("{} (sm_{})", client.properties().identity.name, gpu.sm);
    let args = &SuiteArgs {
        sm: gpu.sm,
        ..args.clone()
    };
    if args.engines.is_empty() && !has_cute() {
        println!("without the CuTe kernels: this build has none (see kernels/README.md)");
    }
    ensure!(
        has_cute() || !args.engines.contains(&EngineArg::Cute),
        "--engines cute: this build has no CuTe kernels (see kernels/README.md)"
    );
    let mut tally = Tally::new(progress(), args.verbose);
    for dtype in &args.dtypes {
        match dtype {
            DtypeArg::F16 => check_type::<f16>(&client, gpu, args, &mut tally),
            DtypeArg::Bf16 => check_type::<bf16>(&client, gpu, args, &mut tally),
        }
    }
    if args.has(Part::Forward) {
        fragment_map::check(&client, &mut tally);
        article::check(&client, args, &mut tally);
    }
    if args.has(Part::Repeat) {
        repeat::check(&client, args, &mut tally);
        backward::check_repeats(&client, gpu, args, &mut tally);
        buffers::check(&client, args, &mut tally);
        graph::check(&client, args, &mut tally);
    }
    if args.has(Part::Ordering) {
        ordering::check(&client, args, &mut tally);
    }
    if args.has(Part::Op) {
        op::check_threads(args, &mut tally);
        op::check_devices(args, &mut tally);
        gradients::check(args, &mut tally);
        choice::check(&client, gpu, args, &mut tally);
        extras::check(args, &mut tally);
    }
    if args.has(Part::Backward) {
        strides::check(args, &mut tally);
    }
    if args.has(Part::Large) {
        memory::check(&client, args, &mut tally);
        large::check(&client, args, &mut tally);
    }
    let failed = tally.finish();
    if failed > 0 {
        bail!("{failed} checks failed");
    }
    Ok(())
}

/// The parts that run in each element type.
fn check_type<E: KernelElement + BurnElement>(
    client: &Client,
    gpu: Gpu,
    args: &SuiteArgs,
    tally: &mut Tally,
) {
    if args.has(Part::Forward) {
        conformance::check::<E>(client, gpu, args, tally);
    }
    if args.has(Part::Op) {
        op::check::<E>(args, tally);
    }
    if args.has(Part::Backward) {
        backward::check::<E>(client, gpu, args, tally);
    }
}

fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {elapsed} {pos} checks, {msg}");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
