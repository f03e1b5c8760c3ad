//! Sentence embeddings with MiniLM-L6 in Burn, its attention on burn-fa2, checked and timed.
//!
//! A tour, in reading order: `attention` holds the swap; `model` is the encoder around it; `load`
//! and `tokenize` read what was published, and `source` pairs them; `embed` batches without
//! padding; `rank` compares sentences; `check` decides whether the embeddings are right; `speed`
//! times burn-fa2 against Burn's own attention. This file strings them together.

mod args;
mod attention;
mod check;
mod device;
mod embed;
mod load;
mod machine;
mod model;
mod path;
mod progress;
mod rank;
mod source;
mod speed;
mod text;
mod tokenize;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use burn::tensor::{DType, Device, FloatDType};
use clap::Parser;

use crate::args::{Args, DTypeArg};
use crate::attention::Attention;
use crate::check::Check;
use crate::device::Kind;
use crate::embed::embed;
use crate::source::Source;
use crate::speed::Speed;
use crate::text::Text;

/// The check embeds this many sentences at most: its truth is computed in f64 on the CPU, which
/// takes its time.
const CHECKED: usize = 64;

fn main() -> Result<()> {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn")).init();
    let args = Args::parse();
    let text = Text::read(&args)?;
    let target = device::choose(args.device)?;
    println!("device     {}", target.name);
    let source = Source::read(&args)?;
    println!("model      {}", source.name);
    let tokens = source.tokenize(&text.sentences)?;
    println!("sentences  {}", tokens.len());
    let checked = &tokens[..CHECKED.min(tokens.len())];
    let truth = truth(&source, checked);

    let dtypes = args.dtype.map_or(target.kind.dtypes(), DTypeArg::dtypes);
    let mut failed = Vec::new();
    for (run, &dtype) in dtypes.iter().enumerate() {
        let name = DType::from(dtype).name();
        let path = path::describe(&source.sizes, &target.device, dtype)?;
        println!("\n{name}, attention on {path}");
        let model = load::copy_to(&source.model, &target.device, dtype);
        let flash = embed(&model, Attention::Flash, &tokens, &target.device);
        // The embeddings of all dtypes are much the same, or the check fails: show the first.
        if run == 0 {
            show(&args, &text, &flash)?;
        }
        let stock = embed(&model, Attention::Stock, checked, &target.device);
        let check = Check::new(dtype, &flash[..checked.len()], &stock, &truth);
        println!("{check}");
        if !check.passed() {
            failed.push(name);
        }
        // One kernel, in f16, whatever the model runs in.
        if target.kind == Kind::Cpu && run == 0 {
            machine::show(&model, &tokens, &target.device)?;
        }
        if target.kind == Kind::Cuda {
            let speed = Speed::of_attention(&source.sizes, &target.device, dtype)?;
            println!("\n{speed}");
            if args.whole_model {
                println!("{}", Speed::of_model(&model, &tokens, &target.device)?);
            }
        }
    }
    ensure!(
        failed.is_empty(),
        "burn-fa2 is too far off in {}: run fa2-gpu-suite, which names the shape at fault",
        failed.join(" and ")
    );
    Ok(())
}

/// What the embeddings should be: the same weights and Burn's attention, in f64 on the CPU.
fn truth(source: &Source, tokens: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let cpu = Device::flex();
    let model = load::copy_to(&source.model, &cpu, FloatDType::F64);
    embed(&model, Attention::Stock, tokens, &cpu)
}

/// Ranks the sentences, and writes their embeddings where the command line asks for it.
fn show(args: &Args, text: &Text, embeddings: &[Vec<f64>]) -> Result<()> {
    if let Some(file) = &args.save {
        save(file, embeddings)?;
    }
    let pairs = match text.query {
        Some(query) => rank::against(query, embeddings, args.top),
        None => rank::pairs(embeddings, args.top),
    };
    println!("{}", rank::table(&pairs, text));
    Ok(())
}

fn save(file: &Path, embeddings: &[Vec<f64>]) -> Result<()> {
    let mut lines = String::new();
    for embedding in embeddings {
        let numbers: Vec<String> = embedding.iter().map(f64::to_string).collect();
        lines += &numbers.join(" ");
        lines += "\n";
    }
    std::fs::write(file, lines)
        .with_context(|| format!("--save {}: can't be written", file.display()))
}
