//! A run from its first step, or its last checkpoint, to its end.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use burn::module::Module;
use burn::tensor::Tensor;
use indicatif::ProgressBar;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::args::TrainArgs;
use crate::attention::Attention;
use crate::checkpoint;
use crate::device::{self, Target};
use crate::log::{Log, Row};
use crate::path;
use crate::plot;
use crate::progress;
use crate::report::Report;
use crate::sample::{Sampling, generate};
use crate::text::Text;
use crate::trainer::{Trainer, values};

const PLOT: &str = "loss.svg";

/// Trains, and shows what came of it.
pub(crate) fn run(args: &TrainArgs) -> Result<()> {
    args.check()?;
    let target = device::choose(args.device)?;
    let mut trainer = begin(args, &target)?;
    describe(&trainer, &target)?;
    let mut log = Log::open(&args.out, trainer.step)?;
    learn(&mut trainer, &mut log, args)?;

    let plot = args.out.join(PLOT);
    plot::draw(&plot, &log.rows)?;
    let peak_bytes = device::peak_bytes(&target.device);
    let sizes = &trainer.settings.sizes;
    let report = Report::new(sizes, &log.rows, args.peak_tflops, peak_bytes);
    println!("\n{report}");
    println!("checkpoint, log.csv and {PLOT} in {}", args.out.display());
    if args.sample > 0 {
        println!("\n{}", sample(&trainer, args, &target)?);
    }
    Ok(())
}

/// A new run, or the one to resume.
fn begin(args: &TrainArgs, target: &Target) -> Result<Trainer> {
    if args.resume {
        return checkpoint::resume(&args.out, &target.device);
    }
    let attention = args.attention.unwrap_or(Attention::Fa2);
    let settings = args.run.settings(target.kind, attention)?;
    let text = Text::read(settings.text.as_deref())?;
    println!("text       {}, {} bytes", text.name, text.bytes.len());
    create(&args.out)?;
    Trainer::new(settings, text, &target.device)
}

fn create(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("--out {}: can't be made", folder.display()))
}

fn describe(trainer: &Trainer, target: &Target) -> Result<()> {
    let settings = &trainer.settings;
    let sizes = &settings.sizes;
    let [train, held_out] = trainer.data.lengths();
    println!("device     {}", target.name);
    println!(
        "model      {} parameters: {} layers, width {}, {} query and {} key/value heads of {}",
        sizes.parameters(),
        sizes.layers,
        sizes.width,
        sizes.heads,
        sizes.kv_heads,
        sizes.head_dim()
    );
    println!("precision  f32 weights, {} products", settings.dtype.name());
    println!(
        "attention  {}",
        path::describe(settings.attention, settings, &target.device)?
    );
    println!(
        "data       {train} bytes to learn, {held_out} held out; {} tokens a step",
        settings.tokens_per_step()
    );
    if trainer.step > 0 {
        println!("resumed    after step {}", trainer.step);
    }
    Ok(())
}

/// Takes all steps that are left.
fn learn(trainer: &mut Trainer, log: &mut Log, args: &TrainArgs) -> Result<()> {
    let steps = trainer.settings.steps;
    let bar = progress::bar("training", steps, trainer.step);
    let mut line = Line::new();
    while trainer.step < steps {
        line.losses.push(trainer.step());
        bar.inc(1);
        let is_due = |every: usize| trainer.step.is_multiple_of(every) || trainer.step == steps;
        let (validates, saves) = (is_due(args.validate_every), is_due(args.checkpoint_every));
        if is_due(args.log_every) || validates || saves {
            line.finish(trainer, log, validates, &bar)?;
        }
        if saves {
            log.save()?;
            checkpoint::save(&args.out, trainer)?;
        }
        if line.losses.is_empty() {
            // Validating and saving are no training.
            line = Line::new();
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// The steps since the last line of the log, whose losses were not waited for.
struct Line {
    losses: Vec<Tensor<1>>,
    start: Instant,
}

impl Line {
    fn new() -> Self {
        Self {
            losses: Vec::new(),
            start: Instant::now(),
        }
    }

    /// Waits for the losses, puts them into `log` and says the last.
    fn finish(
        &mut self,
        trainer: &Trainer,
        log: &mut Log,
        validates: bool,
        bar: &ProgressBar,
    ) -> Result<()> {
        let losses = values(std::mem::take(&mut self.losses))?;
        let seconds = self.start.elapsed().as_secs_f64();
        let settings = &trainer.settings;
        let tokens = losses.len() * settings.tokens_per_step();
        let tokens_per_second = tokens as f64 / seconds;
        let first = trainer.step - losses.len();
        for (step, &loss) in (first..).zip(&losses) {
            ensure!(
                loss.is_finite(),
                "the loss of step {} is {loss}: try a lower --learning-rate{}",
                step + 1,
                if settings.dtype.loss_scale() > 1.0 {
                    ", or --dtype bf16"
                } else {
                    ""
                }
            );
            log.rows.push(Row {
                step: step + 1,
                loss,
                learning_rate: settings.schedule().at(step),
                tokens_per_second,
                validation_loss: None,
            });
        }
        let validation_loss = validates.then(|| trainer.validation_loss()).transpose()?;
        if let Some(row) = log.rows.last_mut() {
            row.validation_loss = validation_loss;
            let mut said = format!(
                "step {:>6}  loss {:.4}  rate {:.2e}  {:>9.0} tokens/s",
                row.step, row.loss, row.learning_rate, row.tokens_per_second
            );
            if let Some(loss) = validation_loss {
                said += &format!("  held out {loss:.4}");
            }
            bar.set_message(format!(
                "loss {:.4}, {tokens_per_second:.0} tokens/s",
                row.loss
            ));
            progress::say(bar, &said);
        }
        Ok(())
    }
}

fn sample(trainer: &Trainer, args: &TrainArgs, target: &Target) -> Result<String> {
    let settings = &trainer.settings;
    let sampling = Sampling {
        count: args.sample,
        temperature: args.temperature,
        context: settings.sizes.context,
    };
    let rng = &mut StdRng::seed_from_u64(settings.seed);
    let text = generate(
        &trainer.model.valid(),
        settings.compute(),
        args.prompt.as_bytes(),
        sampling,
        rng,
        &target.device,
    )?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
