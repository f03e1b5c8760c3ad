//! A kernel on one page: ptxas' figures, the machine instructions by kind, and what the PTX machine
//! measures of a run.

use crate::arguments::ConfigArgs;
use anyhow::{Context, Result, anyhow};
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
    /// Rows of Q, K and V in the PTX machine's run.
    #[arg(long, default_value_t = 300)]
    seq: usize,
    /// Random schedules of that run, which must all give the same bits.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
}

/// Instruction families of the table: title, prefix, and a part that the name must hold.
const FAMILIES: [(&str, &str, &str); 18] = [
    ("HMMA", "HMMA", ""),
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
    ("LDL", "LDL", ""),
    ("STL", "STL", ""),
];

/// Runs the program.
///
/// # Errors
/// A rule that the configuration breaks, or a tool that is missing or failed.
pub fn run(args: &PtxArgs) -> Result<()> {
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
    println!(
        "registers {}, stack {} B, spill stores {} B, spill loads {} B, shared memory {} B",
        census.registers, census.stack, census.spill_stores, census.spill_loads, ptx.shared_bytes
    );
    for warning in &census.warnings {
        println!("ptxas: {warning}");
    }
    print_table(&census);
    match config.dtype() {
        Dtype::F16 => print_measures::<f16>(args, config, &ptx)?,
        Dtype::Bf16 => print_measures::<bf16>(args, config, &ptx)?,
    }
    println!("files: {}/{name}.{{ptx,cubin,sass}}", args.out.display());
    Ok(())
}

/// Runs the kernel in the PTX machine and prints the check of its results and its measures.
fn print_measures<E: KernelElement>(args: &PtxArgs, config: FwdConfig, ptx: &Ptx) -> Result<()> {
    let case = Case::new("machine", 1, 2, args.seq, args.config.d as usize);
    let case = match args.config.causal {
        true => case.causal(Causal::BottomRight),
        false => case,
    };
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

fn print_table(census: &Census) {
    let loops = census.loops.iter().enumerate();
    print!("{:16}{:>8}", "", "kernel");
    for (index, _) in loops.clone() {
        print!("{:>8}", format!("loop {}", index + 1));
    }
    println!();
    let total = |counts: &Counts| counts.values().sum::<usize>();
    print!("{:16}{:>8}", "instructions", total(&census.kernel));
    loops
        .clone()
        .for_each(|(_, counts)| print!("{:>8}", total(counts)));
    println!();
    for (title, prefix, part) in FAMILIES {
        print!(
            "{title:16}{:>8}",
            Census::count_with(&census.kernel, prefix, part)
        );
        loops.clone().for_each(|(_, counts)| {
            print!("{:>8}", Census::count_with(counts, prefix, part));
        });
        println!();
    }
}
