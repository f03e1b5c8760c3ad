//! Device time of the backward over the FlashAttention-2 paper's grid: preprocess, main kernel and
//! conversion together.

use crate::arguments::{DtypeArg, LoadsArg, Sm90TileArg};
use crate::bench::grid::{Keep, measure_each};
use crate::bench::machine::{Machine, MachineArgs};
use crate::bench::pace::PaceArgs;
use crate::bench::pool::{Pool, SETS};
use crate::bench::record::Row;
use crate::bench::shape::paper;
use crate::bench::verify::{verify_gradients, verify_last_head};
use crate::bench::window::Window;
use crate::engine::{EngineArg, QuerySumsArg};
use anyhow::{Result, bail};
use clap::Args;
use cubecl::client::Client;
use fa2_cubecl::{
    BwdConfig, BwdPlan, Gpu, MaskKind, Problem, QuerySums, backward, choose_backward,
    choose_backward_sm90, gpu,
};
use fa2_machine::KernelElement;
use half::{bf16, f16};
use std::collections::HashSet;
use std::path::PathBuf;

/// Options of `fa2-bench backward`.
#[derive(Debug, Args)]
pub struct BackwardArgs {
    /// Implementations: cubecl, hopper.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["cubecl"])]
    paths: Vec<EngineArg>,
    /// Element types.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["f16", "bf16"])]
    dtypes: Vec<DtypeArg>,
    /// Head sizes, divisors of 2048.
    #[arg(long, value_delimiter = ',', default_values_t = [64, 128])]
    dims: Vec<usize>,
    /// Sequence lengths; batch times length is 16384.
    #[arg(long, value_delimiter = ',', default_values_t = [512, 1024, 2048, 4096, 8192, 16384])]
    lengths: Vec<usize>,
    /// Masks: true for causal.
    #[arg(long, value_delimiter = ',', default_values_t = [false, true])]
    causal: Vec<bool>,
    /// Ways to sum up dQ; without them, those that the op takes on a path: its default and deterministic one.
    #[arg(long, value_enum, value_delimiter = ',')]
    query_sums: Vec<QuerySumsArg>,
    /// Measure these tiles of the kernels for SM90, BLOCK_M,BLOCK_N,STAGES, instead of the chosen one.
    /// Repeatable.
    #[arg(long)]
    sm90_tile: Vec<Sm90TileArg>,
    /// Measure the kernels for SM90 with these loads instead of the chosen ones.
    #[arg(long, value_enum, value_delimiter = ',')]
    loads: Vec<LoadsArg>,
    /// Measure the kernels for SM90 with so many key/value heads in a section of the schedule.
    #[arg(long)]
    section: Option<u32>,
    #[command(flatten)]
    pace: PaceArgs,
    #[command(flatten)]
    machine: MachineArgs,
    /// Write the record here as JSON, and as CSV beside it.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs `fa2-bench backward`.
///
/// # Errors
/// Where there is no usable GPU, a result is wrong, or a file can't be written.
pub fn run(args: &BackwardArgs) -> Result<()> {
    let machine = Machine::open(&args.machine)?;
    let method = format!(
        "backward: CUDA events around CUDA graphs of passes (preprocess, main kernel, conversion of dQ) that fill at least {} ms, {SETS} input sets in turn, {}, kernels and ways to sum dQ interleaved and rotating, after a warm-up window; inputs N(0,1), contiguous",
        args.pace.window_ms(),
        args.pace.pace()
    );
    let out = args.out.as_deref();
    let mut rows = Vec::new();
    let mut keep = |new: Vec<Row>| {
        rows.extend(new);
        machine.keep(&rows, &method, out)
    };
    for &dtype in &args.dtypes {
        match dtype {
            DtypeArg::F16 => measure_type::<f16>(&machine.client, args, dtype, &mut keep)?,
            DtypeArg::Bf16 => measure_type::<bf16>(&machine.client, args, dtype, &mut keep)?,
        }
    }
    machine.finish(&rows, &method, out)
}

fn measure_type<E: KernelElement>(
    client: &Client,
    args: &BackwardArgs,
    dtype: DtypeArg,
    keep: &mut Keep<'_>,
) -> Result<()> {
    let problems = paper(&[dtype], &args.dims, &args.lengths, &args.causal);
    // The oracle runs once for each kernel: lengths are no part of one.
    let mut verified = HashSet::new();
    measure_each::<E>(client, &problems, keep, |pool, problem| {
        measure_problem(client, args, pool, problem, &mut verified)
    })
}

fn measure_problem<E: KernelElement>(
    client: &Client,
    args: &BackwardArgs,
    pool: &Pool<E>,
    problem: &Problem,
    verified: &mut HashSet<BwdConfig>,
) -> Result<Vec<Row>> {
    let sets: Vec<_> = (0..SETS).map(|set| pool.gradients(problem, set)).collect();
    let sets = &sets;
    let gpu = gpu(client)?;
    let mut plans = Vec::new();
    let mut windows = Vec::new();
    for (path, plan) in candidates(args, problem, gpu)? {
        let sums = plan.config.query_sums();
        let launch = move |at: usize| {
            let tensors = sets[at % SETS].clone();
            backward(client, problem, tensors, sums, Some(plan))?;
            Ok(())
        };
        if verified.insert(plan.config) {
            verify_gradients(client, pool, problem, plan)?;
        }
        // O and LSE of set 0 stay in the pool; they are as good for another set's time.
        verify_last_head(client, pool, problem, plan)?;
        plans.push((path, plan));
        let least_ms = args.pace.window_ms();
        windows.push(Window::new(client, Box::new(launch), SETS, least_ms)?);
    }
    args.pace.pace().time(problem, &mut windows)?;
    let row = |((path, plan), window): (&(EngineArg, BwdPlan), Window<'_>)| {
        let deterministic = match plan.config.query_sums() {
            QuerySums::Atomic => "",
            QuerySums::Ordered | QuerySums::Owned => "deterministic, ",
        };
        let kernel = format!("{deterministic}{}, section {}", plan.config, plan.section);
        let note = window.note(kernel);
        Row::backward(path.name(), problem, note, window.ms)
    };
    Ok(plans.iter().zip(windows).map(row).collect())
}

/// What is measured for `problem`: with each way to sum up dQ, forced plans or the chosen.
fn candidates(
    args: &BackwardArgs,
    problem: &Problem,
    gpu: Gpu,
) -> Result<Vec<(EngineArg, BwdPlan)>> {
    let mut plans = Vec::new();
    for &path in &args.paths {
        let sums = match args.query_sums.is_empty() {
            true => vec![QuerySums::Atomic, path.deterministic_sums()],
            false => args.query_sums.iter().map(|&sums| sums.into()).collect(),
        };
        for sums in sums {
            match path {
                EngineArg::Cubecl => plans.push((path, choose_backward(problem, gpu, sums)?)),
                EngineArg::Hopper => {
                    let forced = hopper_plans(args, problem, gpu, sums)?;
                    plans.extend(forced.into_iter().map(|plan| (path, plan)));
                }
                EngineArg::Cute => bail!("the CuTe kernels have no backward"),
            }
        }
    }
    Ok(plans)
}

/// Plans of the kernels for SM90.
fn hopper_plans(
    args: &BackwardArgs,
    problem: &Problem,
    gpu: Gpu,
    sums: QuerySums,
) -> Result<Vec<BwdPlan>> {
    let chosen = choose_backward_sm90(problem, gpu, sums)?;
    let mut configs = vec![chosen.config];
    if !args.sm90_tile.is_empty() {
        let (columns, mask) = (problem.head_dim as u32, MaskKind::from(problem.mask));
        let instructions = chosen.config.instructions();
        let config = |tile: &Sm90TileArg| {
            let tile = tile.backward(columns);
            BwdConfig::made_of(instructions, problem.dtype, columns, mask, tile)
                .map(|config| config.with_query_sums(sums))
        };
        configs = args
            .sm90_tile
            .iter()
            .map(config)
            .collect::<Result<_, _>>()?;
    }
    let section = args.section.unwrap_or(chosen.section);
    let plan = |config| BwdPlan {
        config,
        section,
        ..chosen
    };
    let mut plans = Vec::new();
    for config in configs {
        if args.loads.is_empty() {
            plans.push(plan(config));
        }
        for loads in &args.loads {
            let loads = loads.loads();
            let forced = config.with_loads(loads);
            if forced.loads() != loads {
                bail!(
                    "--loads: {config} has no {loads:?} loads; give --query-sums and --dims that have"
                );
            }
            plans.push(plan(forced));
        }
    }
    Ok(plans)
}
