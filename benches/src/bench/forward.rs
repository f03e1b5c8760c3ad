//! Device time of the forward over the FlashAttention-2 paper's grid.

use crate::arguments::{DtypeArg, Sm90TileArg, SoftmaxArg, TileArg, TurnsArg};
use crate::bench::grid::{Keep, measure_each};
use crate::bench::machine::{Machine, MachineArgs};
use crate::bench::pace::{Pace, PaceArgs};
use crate::bench::pool::{Pool, SETS};
use crate::bench::record::Row;
use crate::bench::shape::paper;
use crate::bench::stock;
use crate::bench::verify::verify;
use crate::bench::window::Window;
use crate::engine::{Engine, EngineArg, asked_or_there};
use anyhow::Result;
use clap::Args;
use cubecl::client::Client;
use fa2_cubecl::{
    FwdConfig, FwdPlan, FwdSm90Config, FwdSm90Plan, MaskKind, Problem, choose, choose_sm90, gpu,
};
use fa2_machine::KernelElement;
use half::{bf16, f16};
use std::path::PathBuf;

/// Options of `fa2-bench forward`.
#[derive(Debug, Args)]
pub struct ForwardArgs {
    /// Implementations; without it, all that this build has and the GPU runs.
    #[arg(long, value_enum, value_delimiter = ',')]
    paths: Vec<EngineArg>,
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
    /// The same for the kernels for SM90: BLOCK_M,BLOCK_N,STAGES. Repeatable.
    #[arg(long)]
    sm90_tile: Vec<Sm90TileArg>,
    /// Measure the kernels for SM90 with their warpgroups in these orders instead of the chosen one.
    #[arg(long, value_enum, value_delimiter = ',')]
    turns: Vec<TurnsArg>,
    /// Measure these section sizes instead of the chosen one.
    #[arg(long, value_delimiter = ',')]
    section: Vec<u32>,
    /// Measure these softmax kinds.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["lazy"])]
    softmax: Vec<SoftmaxArg>,
    /// Measure Burn's own attention too, at this length.
    #[arg(long, conflicts_with = "paced")]
    stock: Option<usize>,
    #[command(flatten)]
    pace: PaceArgs,
    #[command(flatten)]
    machine: MachineArgs,
    /// Write the record here as JSON, and as CSV beside it.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs `fa2-bench forward`.
///
/// # Errors
/// Where there is no usable GPU, a result is wrong, or a file can't be written.
pub fn run(args: &ForwardArgs) -> Result<()> {
    let machine = Machine::open(&args.machine)?;
    let pace = args.pace.pace();
    let apart = match pace {
        Pace::Rounds(_) => " (those on wgmma among themselves)",
        Pace::Told => "",
    };
    let method = format!(
        "CUDA events around CUDA graphs of launches that fill at least {} ms, {SETS} input sets in turn, {pace}, kernels interleaved and rotating{apart}, after a warm-up window; inputs N(0,1), contiguous, LSE written",
        args.pace.window_ms()
    );
    let out = args.out.as_deref();
    let mut rows = Vec::new();
    let mut keep = |new: Vec<Row>| {
        rows.extend(new);
        machine.keep(&rows, &method, out)
    };
    let paths = asked_or_there(&args.paths, gpu(&machine.client)?.sm);
    for pass in passes(paths, pace, args.stock) {
        for &dtype in &args.dtypes {
            let measure = match dtype {
                DtypeArg::F16 => measure_type::<f16>,
                DtypeArg::Bf16 => measure_type::<bf16>,
            };
            measure(&machine.client, args, &pass, dtype, &mut keep)?;
        }
    }
    machine.finish(&rows, &method, out)
}

/// What is measured in turn, round by round.
struct Pass {
    paths: Vec<EngineArg>,
    /// The length at which Burn's own attention joins.
    stock: Option<usize>,
}

/// Engines on wgmma sit at the power limit: in turn with them, one on mma.sync would be measured at their
/// clocks. So they have a pass of their own, but where the conductor sets them all beside others.
fn passes(
    paths: impl Iterator<Item = EngineArg>,
    pace: Pace,
    mut stock: Option<usize>,
) -> Vec<Pass> {
    let (hopper, others): (Vec<_>, Vec<_>) = match pace {
        Pace::Rounds(_) => paths.partition(|path| *path == EngineArg::Hopper),
        Pace::Told => (paths.collect(), vec![]),
    };
    [others, hopper]
        .into_iter()
        .filter(|paths| !paths.is_empty())
        .map(|paths| Pass {
            paths,
            stock: stock.take(),
        })
        .collect()
}

fn measure_type<E: KernelElement>(
    client: &Client,
    args: &ForwardArgs,
    pass: &Pass,
    dtype: DtypeArg,
    keep: &mut Keep<'_>,
) -> Result<()> {
    let problems = paper(&[dtype], &args.dims, &args.lengths, &args.causal);
    measure_each::<E>(client, &problems, keep, |pool, problem| {
        let mut rows = measure_problem(client, args, &pass.paths, pool, problem)?;
        if let Pace::Rounds(rounds) = args.pace.pace()
            && pass.stock == Some(problem.seq_q)
        {
            rows.push(stock::measure(problem, args.machine.device(), rounds)?);
        }
        Ok(rows)
    })
}

/// Kernels to measure: forced ones, or the chosen.
fn engines(
    client: &Client,
    args: &ForwardArgs,
    paths: &[EngineArg],
    problem: &Problem,
) -> Result<Vec<Engine>> {
    let mut engines = Vec::new();
    for path in paths {
        match path {
            EngineArg::Cubecl => {
                let plans = plans(client, args, problem)?;
                engines.extend(plans.into_iter().map(|plan| Engine::CubeCl(Some(plan))));
            }
            EngineArg::Hopper => {
                let plans = sm90_plans(args, problem)?;
                engines.extend(plans.into_iter().map(|plan| Engine::Hopper(Some(plan))));
            }
            EngineArg::Cute => engines.push(path.chosen()),
        }
    }
    Ok(engines)
}

/// Plans of the kernels for SM90.
fn sm90_plans(args: &ForwardArgs, problem: &Problem) -> Result<Vec<FwdSm90Plan>> {
    let chosen = choose_sm90(problem)?;
    let mut configs = vec![chosen.config];
    if !args.sm90_tile.is_empty() {
        let mask = MaskKind::from(problem.mask);
        let config = |tile: &Sm90TileArg| {
            FwdSm90Config::new(problem.dtype, problem.head_dim as u32, mask, tile.0)
        };
        configs = args
            .sm90_tile
            .iter()
            .map(config)
            .collect::<Result<_, _>>()?;
    }
    let sections = if args.section.is_empty() {
        vec![chosen.section]
    } else {
        args.section.clone()
    };
    let turns: Vec<_> = match args.turns.is_empty() {
        true => vec![chosen.config.turns()],
        false => args.turns.iter().map(|turns| turns.turns()).collect(),
    };
    let mut plans = Vec::new();
    for config in configs {
        for softmax in &args.softmax {
            for &turns in &turns {
                let config = config.with_rescale(softmax.rescale()).with_turns(turns);
                plans.extend(sections.iter().map(|&section| FwdSm90Plan {
                    config,
                    section,
                    cubes: None,
                }));
            }
        }
    }
    Ok(plans)
}

/// Plans of the CubeCL kernel.
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
    paths: &[EngineArg],
    pool: &Pool<E>,
    problem: &Problem,
) -> Result<Vec<Row>> {
    let sets: Vec<_> = (0..SETS).map(|set| pool.tensors(problem, set)).collect();
    let sets = &sets;
    let mut engines = engines(client, args, paths, problem)?;
    let mut windows = Vec::new();
    for engine in &mut engines {
        // What its own heuristics leave open is fixed here, and checked before it is timed.
        *engine = engine
            .launch(client, problem, &sets[0])
            .map_err(anyhow::Error::msg)?;
        verify(client, pool, problem, &sets[0].o.handle)?;
        let engine = *engine;
        let launch = move |at: usize| {
            let launched = engine.launch(client, problem, &sets[at % SETS]);
            launched.map(drop).map_err(anyhow::Error::msg)
        };
        let least_ms = args.pace.window_ms();
        windows.push(Window::new(client, Box::new(launch), SETS, least_ms)?);
    }
    args.pace.pace().time(problem, &mut windows)?;
    let row = |(engine, window): (&Engine, Window<'_>)| {
        let note = window.note(engine);
        Row::forward(engine.arg().name(), problem, note, window.ms)
    };
    Ok(engines.iter().zip(windows).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engines(pace: Pace) -> Vec<Vec<EngineArg>> {
        let paths = [EngineArg::Cubecl, EngineArg::Hopper, EngineArg::Cute];
        let passes = passes(paths.into_iter(), pace, None);
        passes.into_iter().map(|pass| pass.paths).collect()
    }

    #[test]
    fn only_a_paced_run_has_wgmma_in_turn_with_others() {
        use EngineArg::{Cubecl, Cute, Hopper};
        let apart = [vec![Cubecl, Cute], vec![Hopper]];
        assert_eq!(engines(Pace::Rounds(9)), apart);
        assert_eq!(engines(Pace::Told), [vec![Cubecl, Hopper, Cute]]);
    }
}
