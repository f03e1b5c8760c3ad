//! Device time of the forward: CUDA events around windows of launches, plans interleaved by round.

use crate::arguments::{DtypeArg, SoftmaxArg, TileArg};
use crate::bench::pool::{Pool, SETS};
use crate::bench::record::{Record, Row, driver};
use crate::bench::shape::{ELEMENTS, paper};
use crate::bench::stock;
use crate::bench::verify::verify;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use cubecl::client::Client;
use cubecl::future::block_on;
use fa2_cubecl::{FwdConfig, FwdPlan, MaskKind, Problem, choose, forward, gpu};
use fa2_machine::KernelElement;
use half::{bf16, f16};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;

/// Least time of a window, in milliseconds: short ones would time the gap before the first launch.
const WINDOW_MS: f64 = 20.0;

/// Options of `fa2-bench forward`.
#[derive(Debug, Args)]
pub struct ForwardArgs {
    /// Element types.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["f16", "bf16"])]
    dtypes: Vec<DtypeArg>,
    /// Head sizes, divisors of 2048.
    #[arg(long, value_delimiter = ',', default_values_t = [64, 128, 256])]
    dims: Vec<usize>,
    /// Sequence lengths; batch times length is 16384.
    #[arg(long, value_delimiter = ',', default_values_t = [512, 1024, 2048, 4096, 8192, 16384])]
    lengths: Vec<usize>,
    /// Masks: true for causal.
    #[arg(long, value_delimiter = ',', default_values_t = [false, true])]
    causal: Vec<bool>,
    /// Measure these tiles, BLOCK_M,BLOCK_N,WARPS,STAGES, instead of the chosen one. Repeatable.
    #[arg(long)]
    tile: Vec<TileArg>,
    /// Measure these section sizes instead of the chosen one.
    #[arg(long, value_delimiter = ',')]
    section: Vec<u32>,
    /// Measure these softmax kinds.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["lazy"])]
    softmax: Vec<SoftmaxArg>,
    /// Measure Burn's own attention too, at this length.
    #[arg(long)]
    stock: Option<usize>,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Index of the CUDA device.
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Write the record here as JSON, and as CSV beside it.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Commit to note in the record.
    #[arg(long, default_value = "unknown")]
    commit: String,
}

/// Runs `fa2-bench forward`.
///
/// # Errors
/// Where there is no usable GPU, a result is wrong, or a file can't be written.
pub fn run(args: &ForwardArgs) -> Result<()> {
    let device = cubecl::Device::cuda(args.device).context("no CUDA device")?;
    let client = device.client();
    let mut rows = Vec::new();
    for &dtype in &args.dtypes {
        rows.extend(match dtype {
            DtypeArg::F16 => measure_type::<f16>(&client, args, dtype)?,
            DtypeArg::Bf16 => measure_type::<bf16>(&client, args, dtype)?,
        });
    }
    print_table(&rows);
    if let Some(path) = &args.out {
        let record = Record {
            gpu: client.properties().identity.name.clone(),
            driver: driver(),
            date: jiff::Zoned::now().date().to_string(),
            commit: args.commit.clone(),
            versions: serde_json::json!({ "burn": "0.22.1", "cubecl": "0.11.3" }),
            method: format!(
                "CUDA events around windows of at least {WINDOW_MS} ms of launches, {SETS} input sets in turn, {} rounds, plans interleaved, after a warm-up window; inputs N(0,1), contiguous, LSE written",
                args.rounds
            ),
            rows,
        };
        record.write(path)?;
        println!("record: {}", path.display());
    }
    Ok(())
}

fn measure_type<E: KernelElement>(
    client: &Client,
    args: &ForwardArgs,
    dtype: DtypeArg,
) -> Result<Vec<Row>> {
    let problems = paper(&[dtype], &args.dims, &args.lengths, &args.causal);
    let most_rows = problems
        .iter()
        .map(|p| p.batch * p.heads_q * p.seq_q)
        .max()
        .unwrap_or(0);
    let pool = Pool::<E>::new(client, ELEMENTS, most_rows);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")?;
    let progress = ProgressBar::new(problems.len() as u64).with_style(style);
    let mut rows = Vec::new();
    for problem in &problems {
        progress.set_message(format!(
            "{} D={} S={}",
            E::NAME,
            problem.head_dim,
            problem.seq_q
        ));
        rows.extend(measure_problem(client, args, &pool, problem)?);
        if args.stock == Some(problem.seq_q) {
            rows.push(stock::measure(problem, args.device, args.rounds)?);
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(rows)
}

/// Plans to measure: forced ones, or the chosen.
fn plans(client: &Client, args: &ForwardArgs, problem: &Problem) -> Result<Vec<FwdPlan>> {
    let chosen = choose(problem, gpu(client)?)?;
    let mut configs = vec![chosen.config];
    if !args.tile.is_empty() {
        let mask = MaskKind::from(problem.mask);
        let config =
            |tile: &TileArg| FwdConfig::new(problem.dtype, problem.head_dim as u32, mask, tile.0);
        configs = args.tile.iter().map(config).collect::<Result<_, _>>()?;
    }
    let sections = if args.section.is_empty() {
        vec![chosen.section]
    } else {
        args.section.clone()
    };
    let configs = configs.into_iter().flat_map(|config| {
        args.softmax
            .iter()
            .map(move |softmax| softmax.apply(config))
    });
    let plan = |config: FwdConfig| {
        sections
            .iter()
            .map(move |&section| FwdPlan { config, section })
            .collect::<Vec<_>>()
    };
    Ok(configs.flat_map(plan).collect())
}

fn measure_problem<E: KernelElement>(
    client: &Client,
    args: &ForwardArgs,
    pool: &Pool<E>,
    problem: &Problem,
) -> Result<Vec<Row>> {
    let plans = plans(client, args, problem)?;
    let mut windows = Vec::new();
    for &plan in &plans {
        verify(client, pool, problem, Some(plan))?;
        // Launches of a window, from the time of a few after the first.
        let first = window(client, pool, problem, plan, 3)?;
        let launches = (WINDOW_MS / first).ceil().max(1.0) as usize;
        window(client, pool, problem, plan, launches)?;
        windows.push((plan, launches, Vec::new()));
    }
    for _ in 0..args.rounds {
        for (plan, launches, ms) in &mut windows {
            ms.push(window(client, pool, problem, *plan, *launches)?);
        }
    }
    let row = |(plan, _, ms): (FwdPlan, usize, Vec<f64>)| {
        let note = format!("{} section {}", plan.config, plan.section);
        Row::forward("cubecl", problem, note, ms)
    };
    Ok(windows.into_iter().map(row).collect())
}

/// Milliseconds of one launch, from a window of `launches`.
fn window<E: KernelElement>(
    client: &Client,
    pool: &Pool<E>,
    problem: &Problem,
    plan: FwdPlan,
    launches: usize,
) -> Result<f64> {
    let sets: Vec<_> = (0..SETS).map(|set| pool.tensors(problem, set)).collect();
    let (result, duration) = client
        .profile(
            || {
                (0..launches).try_for_each(|launch| {
                    let tensors = sets[launch % SETS].clone();
                    forward(client, problem, tensors, Some(plan)).map(|_| ())
                })
            },
            "forward",
        )
        .map_err(|error| anyhow!("{error:?}"))?;
    result?;
    let ticks = block_on(duration.resolve()).context("the device measured no time")?;
    Ok(ticks.duration().as_secs_f64() * 1e3 / launches as f64)
}

fn print_table(rows: &[Row]) {
    println!(
        "{:8} {:5} {:>4} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8}  plan",
        "path", "dtype", "D", "S", "causal", "min ms", "median", "max", "TFLOP/s"
    );
    for row in rows {
        let [least, median, most] = row.ms;
        println!(
            "{:8} {:5} {:>4} {:>6} {:>6} {least:>8.4} {median:>8.4} {most:>8.4} {:>8.1}  {}",
            row.path, row.dtype, row.d, row.sq, row.causal, row.tflops, row.note
        );
    }
}
