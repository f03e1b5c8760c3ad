//! A kernel on one page: ptxas' figures, the machine instructions by kind, and what the PTX machine
//! measures of a run.

mod backward;
mod hopper;

use crate::arguments::ConfigArgs;
use crate::engine::{EngineArg, QuerySumsArg};
use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use fa2_cubecl::offline::{self, Ptx};
use fa2_cubecl::{Dtype, FwdConfig, FwdPlan, Gpu};
use fa2_machine::{Kernel, KernelElement};
use fa2_testing::census::{self, Census, Counts};
use fa2_testing::{Case, Causal, Expected, inputs};
use half::{bf16, f16};
use std::path::PathBuf;

/// Compile a kernel configuration without a GPU, show its code, and run it in the PTX machine.
#[derive(Debug, Parser)]
#[command(name = "fa2-ptx")]
pub struct PtxArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Compute capability.
    #[arg(long, default_value_t = 80)]
    sm: u32,
    /// Folder for the PTX, the cubin and the disassembly.
    #[arg(long, default_value = "target/ptx")]
    out: PathBuf,
    /// Print the PTX too.
    #[arg(long)]
    text: bool,
    /// Whose kernel; that for SM90 is compiled for it whatever `--sm` says.
    #[arg(long, value_enum, default_value = "cubecl")]
    engine: EngineArg,
    /// Show the CuTe kernel for the same problem beside it; with the article's tile, the article's
    /// kernel.
    #[arg(long)]
    cute: bool,
    /// The kernels of the backward pass instead of the forward's, as the heuristics choose them.
    #[arg(long, conflicts_with_all = ["cute", "tile", "half_row"])]
    backward: bool,
    /// How the backward pass sums up dQ.
    #[arg(long, value_enum, default_value = "atomic", requires = "backward")]
    query_sums: QuerySumsArg,
    /// Rows of Q, K and V in the PTX machine's run.
    #[arg(long, default_value_t = 300)]
    seq: usize,
    /// Random schedules of that run, which must all give the same bits.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
}

/// Instruction families of the table: title, prefix, and a part that the name must hold.
const FAMILIES: [(&str, &str, &str); 25] = [
    ("HMMA", "HMMA", ""),
    ("HGMMA", "HGMMA", ""),
    ("UTMALDG", "UTMALDG", ""),
    ("SYNCS", "SYNCS", ""),
    ("R2UR", "R2UR", ""),
    ("WARPGROUP", "WARPGROUP", ""),
    ("LDSM", "LDSM", ""),
    ("  of these .T", "LDSM", "MT"),
    ("LDGSTS", "LDGSTS", ""),
    ("SHFL", "SHFL", ""),
    ("BAR", "BAR", ""),
    ("MUFU", "MUFU", ""),
    ("FFMA", "FFMA", ""),
    ("FMUL", "FMUL", ""),
    ("FADD", "FADD", ""),
    ("FMNMX", "FMNMX", ""),
    ("F2FP", "F2FP", ""),
    ("MOV", "MOV", ""),
    ("STS", "STS", ""),
    ("LDS", "LDS.", ""),
    ("STG", "STG", ""),
    ("RED", "RED", ""),
    ("STSM", "STSM", ""),
    ("LDL", "LDL", ""),
    ("STL", "STL", ""),
];

/// Runs the program.
///
/// # Errors
/// A rule that the configuration breaks, or a tool that is missing or failed.
pub fn run(args: &PtxArgs) -> Result<()> {
    if args.backward {
        return backward::run(args);
    }
    match args.engine {
        EngineArg::Cubecl => {}
        EngineArg::Hopper => return hopper::run(args),
        EngineArg::Cute => bail!("--cute shows the CuTe kernel beside CubeCL's"),
    }
    let config = args.config.config(Gpu::of_capability(args.sm))?;
    let started = std::time::Instant::now();
    let ptx = offline::compile(config, args.sm).map_err(|error| anyhow!(error))?;
    let compiled = started.elapsed();
    let name = format!("{config}").replace([' ', '='], "_");
    let census = census::assemble(&ptx.text, args.sm, &args.out, &name)
        .map_err(|error| anyhow!(error))
        .context("assembling the kernel")?;
    if args.text {
        println!("{}", ptx.text);
    }
    println!("{config}, sm_{}, compiled in {compiled:.2?}", args.sm);
    print_figures(&census, ptx.shared_bytes);
    let cute = match args.cute {
        true => Some(cute(args, config)?),
        false => None,
    };
    print_table(&census, cute.as_ref());
    match config.dtype() {
        Dtype::F16 => print_measures::<f16>(args, config, &ptx)?,
        Dtype::Bf16 => print_measures::<bf16>(args, config, &ptx)?,
    }
    println!("files: {}/{name}.{{ptx,cubin,sass}}", args.out.display());
    Ok(())
}

/// What runs in the PTX machine.
fn case(args: &PtxArgs) -> Case {
    let case = Case::new("machine", 1, 2, args.seq, args.config.d as usize);
    match args.config.causal {
        true => case.causal(Causal::BottomRight),
        false => case,
    }
}

/// Runs the kernel in the PTX machine and prints the check of its results and its measures.
fn print_measures<E: KernelElement>(args: &PtxArgs, config: FwdConfig, ptx: &Ptx) -> Result<()> {
    let case = case(args);
    let kernel = Kernel::parse(FwdPlan { config, section: 1 }, ptx)?;
    let qkv = inputs::generate::<E>(&case, 1);
    let run = kernel.forward(&case, &qkv, args.seeds)?;
    let expected = Expected::of(&case, &qkv);
    expected
        .judge(&run.output, &run.lse)
        .map_err(|wrong| anyhow!("the kernel's result is wrong: {wrong}"))?;
    println!(
        "\nin the PTX machine, {case}, {} schedules: no violation; O {}",
        args.seeds + 1,
        expected.output(&run.output)
    );
    println!("{}\n", run.measures);
    Ok(())
}

/// The CuTe kernel's code, its figures printed.
fn cute(args: &PtxArgs, config: FwdConfig) -> Result<Census> {
    let article = fa2_cubecl::Tile {
        stages: config.stages(),
        block_m: 64,
        block_n: 64,
        warps: 4,
    };
    let mask = if args.config.causal { "causal" } else { "none" };
    let teaching = format!("fa2_teaching_{mask}_{}", config.stages());
    let is_article =
        (config.dtype(), config.head_dim(), config.tile()) == (Dtype::F16, 64, article);
    let kernel = match fa2_cute::kernel(&teaching) {
        Some(kernel) if is_article => kernel,
        _ => {
            let gpu = fa2_cute::Gpu {
                shared_bytes: Gpu::of_capability(args.sm).shared_bytes,
            };
            fa2_cute::choose(&fa2_cute::launch::sizes(&args.config.problem())?, gpu)?.kernel
        }
    };
    let census = census::disassemble(fa2_cute::FATBIN, kernel.name, args.sm, &args.out)
        .map_err(|error| anyhow!(error))
        .context("reading the CuTe kernels (was this built with them? see kernels/README.md)")?;
    let figures = format!("{} {} ", args.sm, kernel.name);
    let figures = fa2_cute::REPORT
        .lines()
        .find_map(|line| line.strip_prefix(&figures))
        .context("ptxas left no figures of the kernel")?;
    println!(
        "{}: registers, stack, spill stores and loads {figures}; shared memory {} B",
        kernel.name, kernel.shared_bytes
    );
    Ok(census)
}

fn print_figures(census: &Census, shared_bytes: usize) {
    println!(
        "registers {}, stack {} B, spill stores {} B, spill loads {} B, shared memory {shared_bytes} B",
        census.registers, census.stack, census.spill_stores, census.spill_loads
    );
    for warning in &census.warnings {
        println!("ptxas: {warning}");
    }
}

fn print_table(census: &Census, cute: Option<&Census>) {
    let mut columns = vec![("kernel".to_owned(), &census.kernel)];
    let loops =
        |name: &'static str| move |(index, counts)| (format!("{name} {}", index + 1), counts);
    columns.extend(census.loops.iter().enumerate().map(loops("loop")));
    if let Some(cute) = cute {
        columns.push(("cute".to_owned(), &cute.kernel));
        columns.extend(cute.loops.iter().enumerate().map(loops("cute loop")));
    }
    let line = |title: &str, cell: &dyn Fn(&(String, &Counts)) -> String| {
        let cells: String = columns
            .iter()
            .map(|column| format!("{:>12}", cell(column)))
            .collect();
        println!("{title:16}{cells}");
    };
    line("", &|(name, _)| name.clone());
    line("instructions", &|(_, counts)| {
        counts.values().sum::<usize>().to_string()
    });
    for (title, prefix, part) in FAMILIES {
        line(title, &|(_, counts)| {
            Census::count_with(counts, prefix, part).to_string()
        });
    }
}
