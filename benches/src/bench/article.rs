//! The article's benchmark (claims M1 to M4): its rows, its method, its kernels.
//!
//! A window is a CUDA graph of 100 forwards into preallocated outputs.

use crate::bench::machine::{Machine, MachineArgs};
use crate::bench::pace::Pace;
use crate::bench::pool::Pool;
use crate::bench::record::Row;
use crate::bench::verify::verify;
use crate::bench::window::Window;
use crate::engine::{Engine, EngineArg, asked_or_there, has_cute};
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use cubecl::client::Client;
use fa2_cubecl::{
    Alignment, Dtype, FwdConfig, FwdPlan, FwdTensors, Mask, MaskKind, Problem, Rescale, Tile, gpu,
};
use fa2_cute::KernelInfo;
use half::f16;
use std::fmt;
use std::path::PathBuf;

/// Batch times heads, and rows.
const ROWS: [(usize, usize); 6] = [
    (1, 64),
    (1, 512),
    (1, 2048),
    (1, 4096),
    (8, 4096),
    (32, 2048),
];
const HEAD_DIM: usize = 64;
/// Forwards of a window.
const FORWARDS: usize = 100;

/// Options of `fa2-bench article`.
#[derive(Debug, Args)]
pub struct ArticleArgs {
    /// Implementations, `cute` the article's own kernel and the general one; without it, all that this
    /// build has and the GPU runs.
    #[arg(long, value_enum, value_delimiter = ',')]
    paths: Vec<EngineArg>,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    #[command(flatten)]
    machine: MachineArgs,
    /// Write the record here as JSON, and as CSV beside it.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs `fa2-bench article`.
///
/// # Errors
/// Where there is no usable GPU, a result is wrong, or a file can't be written.
pub fn run(args: &ArticleArgs) -> Result<()> {
    ensure!(
        has_cute() || !args.paths.contains(&EngineArg::Cute),
        "--paths cute: this build has no CuTe kernels (see kernels/README.md)"
    );
    let machine = Machine::open(&args.machine)?;
    let most = ROWS.iter().map(|(heads, seq)| heads * seq).max();
    let most = most.context("the grid is empty")?;
    let pool = Pool::<f16>::new(&machine.client, most * HEAD_DIM, most);
    let mut rows = Vec::new();
    for causal in [false, true] {
        for (heads, seq) in ROWS {
            let problem = problem(heads, seq, causal);
            rows.extend(measure(&machine.client, args, &pool, &problem)?);
        }
    }
    let method = format!(
        "the article's: a CUDA graph of {FORWARDS} forwards into one preallocated output between two events (a queue of them where the note says so), one input set, {} rounds, the kernels' order rotating; f16, D = 64, inputs N(0,1), contiguous",
        args.rounds
    );
    machine.finish(&rows, &method, args.out.as_deref())
}

fn problem(heads: usize, seq: usize, causal: bool) -> Problem {
    Problem {
        batch: 1,
        heads_q: heads,
        heads_kv: heads,
        seq_q: seq,
        seq_k: seq,
        head_dim: HEAD_DIM,
        dtype: Dtype::F16,
        mask: match causal {
            true => Mask::Causal(Alignment::BottomRight),
            false => Mask::None,
        },
        scale: (HEAD_DIM as f32).sqrt().recip(),
    }
}

/// A kernel of the comparison.
#[derive(Clone, Copy)]
enum Contestant {
    /// The engine's own choice, or a forced kernel of it.
    Engine(Engine),
    /// The article's kernel.
    Teaching(&'static KernelInfo),
}

impl Contestant {
    fn path(self) -> &'static str {
        match self {
            Self::Engine(engine) => engine.arg().name(),
            Self::Teaching(_) => EngineArg::Cute.name(),
        }
    }

    /// Enqueues a forward; what a heuristic left open comes back fixed.
    fn launch(self, client: &Client, problem: &Problem, tensors: &FwdTensors) -> Result<Self> {
        match self {
            Self::Engine(engine) => engine
                .launch(client, problem, tensors)
                .map(Self::Engine)
                .map_err(anyhow::Error::msg),
            Self::Teaching(kernel) => {
                let FwdTensors { q, k, v, o, .. } = tensors;
                let handles = [q, k, v, o].map(|tensor| &tensor.handle);
                let sizes = [problem.batch * problem.heads_q, problem.seq_q];
                fa2_cute::launch::teaching(client, sizes, handles, kernel)?;
                Ok(self)
            }
        }
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(engine) => engine.fmt(f),
            Self::Teaching(kernel) => write!(f, "teaching, {} stages", kernel.stages),
        }
    }
}

/// On each path the article's tile with 2 and with 3 stages, where it has one, and what the heuristics choose.
fn contestants(paths: impl Iterator<Item = EngineArg>, causal: bool) -> Result<Vec<Contestant>> {
    let mut contestants = Vec::new();
    for path in paths {
        for stages in [2, 3] {
            contestants.push(match path {
                EngineArg::Cubecl => {
                    let tile = Tile {
                        block_m: 64,
                        block_n: 64,
                        warps: 4,
                        stages,
                    };
                    let mask = match causal {
                        true => MaskKind::Causal,
                        false => MaskKind::None,
                    };
                    let config = FwdConfig::new(Dtype::F16, HEAD_DIM as u32, mask, tile)?
                        .with_rescale(Rescale::Eager);
                    let plan = FwdPlan { config, section: 1 };
                    Contestant::Engine(Engine::CubeCl(Some(plan)))
                }
                // The article's kernel is one for SM80.
                EngineArg::Hopper => continue,
                EngineArg::Cute => {
                    let mask = if causal { "causal" } else { "none" };
                    let name = format!("fa2_teaching_{mask}_{stages}");
                    let kernel = fa2_cute::kernel(&name);
                    Contestant::Teaching(kernel.ok_or_else(|| anyhow!("there is no {name}"))?)
                }
            });
        }
        contestants.push(Contestant::Engine(path.chosen()));
    }
    Ok(contestants)
}

fn measure(
    client: &Client,
    args: &ArticleArgs,
    pool: &Pool<f16>,
    problem: &Problem,
) -> Result<Vec<Row>> {
    let tensors = pool.tensors(problem, 0);
    let tensors = &tensors;
    let paths = asked_or_there(&args.paths, gpu(client)?.sm);
    let mut contestants = contestants(paths, problem.mask != Mask::None)?;
    let mut windows = Vec::new();
    for contestant in &mut contestants {
        *contestant = contestant.launch(client, problem, tensors)?;
        verify(client, pool, problem, &tensors.o.handle)?;
        let contestant = *contestant;
        let launch = move |_: usize| contestant.launch(client, problem, tensors).map(drop);
        windows.push(Window::of_launches(client, Box::new(launch), FORWARDS)?);
    }
    Pace::Rounds(args.rounds).time(problem, &mut windows)?;
    let row = |(contestant, window): (&Contestant, Window<'_>)| {
        let note = window.note(contestant);
        Row::forward(contestant.path(), problem, note, window.ms)
    };
    Ok(contestants.iter().zip(windows).map(row).collect())
}
