//! A kernel's code on one page: PTX, ptxas' figures, and the machine instructions by kind.

use crate::arguments::ConfigArgs;
use anyhow::{Context, Result, anyhow};
use clap::Parser;
use fa2_cubecl::{Gpu, offline};
use fa2_testing::census::{self, Census, Counts};
use std::path::PathBuf;

/// Compile a kernel configuration without a GPU and show its code.
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
    println!("files: {}/{name}.{{ptx,cubin,sass}}", args.out.display());
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
