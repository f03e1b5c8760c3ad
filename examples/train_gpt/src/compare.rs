//! Two kinds of attention, one seed: do the loss curves agree at every step?
//!
//! `curves` has the rule.

use anyhow::Result;
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Tensor, TensorData};
use clap::Args;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::attention::Attention;
use crate::choices::RunArgs;
use crate::curves::Comparison;
use crate::device::{self, DeviceArg, Kind, Target};
use crate::model::Gpt;
use crate::path;
use crate::progress;
use crate::settings::Settings;
use crate::text::Text;
use crate::trainer::{Trainer, values};

/// Control runs, each with other roundings.
const CONTROLS: u64 = 2;
/// Steps where nothing is asked for.
const STEPS: usize = 200;

/// Train twice with two kinds of attention.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    run: RunArgs,

    /// What is judged
    #[arg(long, value_enum, default_value_t = Attention::Fa2)]
    candidate: Attention,

    /// What it is held to [default: composed on a GPU; burn on a CPU, where burn-fa2 itself
    /// composes]
    #[arg(long, value_enum)]
    reference: Option<Attention>,

    /// Where to run
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto)]
    device: DeviceArg,

    /// Steps between two lines
    #[arg(long, value_name = "STEPS", default_value_t = 10)]
    log_every: usize,
}

/// Trains and compares; an error where a gap is too wide.
pub(crate) fn run(args: &CompareArgs) -> Result<()> {
    let target = device::choose(args.device)?;
    let candidate = args.candidate;
    let reference = args.reference.unwrap_or(match target.kind {
        Kind::Cpu => Attention::Burn,
        Kind::Cuda => Attention::Composed,
    });
    let settings = Settings {
        steps: args.run.steps.unwrap_or(STEPS),
        ..args.run.settings(target.kind, candidate)?
    };
    println!("device     {}", target.name);
    for (role, attention) in [("candidate", candidate), ("reference", reference)] {
        let shown = path::describe(attention, &settings, &target.device)?;
        println!("{role}  {shown}");
    }
    println!("precision  f32 weights, {} products", settings.dtype.name());
    let comparison = compare(&settings, [candidate, reference], &target)?;
    print!("{}", comparison.table(args.log_every.max(1)));
    comparison.judge()
}

/// Trains all of them on the text of `settings`.
fn compare(
    settings: &Settings,
    [candidate, reference]: [Attention; 2],
    target: &Target,
) -> Result<Comparison> {
    let curve = |what: &str, attention, control| {
        let settings = Settings {
            attention,
            ..settings.clone()
        };
        let text = Text::read(settings.text.as_deref())?;
        let mut trainer = Trainer::new(settings, text, &target.device)?;
        if let Some(seed) = control {
            trainer.model = round(&trainer, seed);
        }
        losses(&mut trainer, what)
    };
    Ok(Comparison {
        candidate: curve("candidate", candidate, None)?,
        reference: curve("reference", reference, None)?,
        controls: (0..CONTROLS)
            .map(|seed| curve("control", reference, Some(seed)))
            .collect::<Result<_>>()?,
    })
}

fn losses(trainer: &mut Trainer, what: &str) -> Result<Vec<f64>> {
    let bar = progress::bar(what, trainer.settings.steps, 0);
    let mut losses = Vec::new();
    for _ in 0..trainer.settings.steps {
        // One after the other: a queue of a whole run would hold its memory.
        losses.extend(values(vec![trainer.step()])?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(losses)
}

/// The model with every weight one rounding up or down. Weights are f32, so in f32 that is a last
/// place, the least that changes one.
fn round(trainer: &Trainer, seed: u64) -> Gpt {
    let mut mapper = Round {
        rng: StdRng::seed_from_u64(seed),
        step: trainer.settings.dtype.unit().max(f32::EPSILON),
    };
    trainer.model.clone().map(&mut mapper)
}

struct Round {
    rng: StdRng,
    step: f32,
}

impl ModuleMapper for Round {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| {
            let shape = weights.dims();
            let count: usize = shape.iter().product();
            let mut factor = || {
                if self.rng.random() {
                    1.0 + self.step
                } else {
                    1.0 - self.step
                }
            };
            let factors: Vec<f32> = (0..count).map(|_| factor()).collect();
            let weights = weights.inner();
            let factors = Tensor::from_data(TensorData::new(factors, shape), &weights.device());
            Tensor::from_inner(weights * factors).require_grad()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::toy;

    #[test]
    fn a_control_differs_by_one_rounding() {
        let trainer = crate::trainer::tests::trainer(toy());
        let control = round(&trainer, 1);
        let gain = |model: &Gpt| -> Vec<f32> { model.gains().into_data().iter().collect() };
        for (moved, gain) in gain(&control).iter().zip(gain(&trainer.model)) {
            assert_eq!((moved - gain).abs(), f32::EPSILON);
        }
    }

    /// Settings of a run that learns this very file.
    fn settings(test: &str) -> Settings {
        let name = format!("train_gpt-{test}-{}", std::process::id());
        let text = std::env::temp_dir().join(name);
        std::fs::write(&text, include_bytes!("compare.rs")).unwrap();
        Settings {
            steps: STEPS,
            warm_up: 20,
            text: Some(text),
            ..toy()
        }
    }

    fn finish(settings: Settings) {
        std::fs::remove_file(settings.text.unwrap()).unwrap();
    }

    /// The property that training rests on: 200 steps with burn-fa2 follow 200 steps with Burn's
    /// own attention, on the CPU in f32.
    #[test]
    fn two_hundred_steps_with_burn_fa2_follow_those_with_burns_attention() {
        let settings = settings("follow");
        let target = device::choose(DeviceArg::Cpu).unwrap();
        let both = [Attention::Fa2, Attention::Burn];
        let comparison = compare(&settings, both, &target).unwrap();
        comparison.judge().unwrap();
        let last = comparison.reference[STEPS - 1];
        assert!(
            last < 0.8 * comparison.reference[0],
            "nothing was learned: {last}"
        );
        finish(settings);
    }

    #[test]
    fn gradients_that_are_wrong_by_one_in_a_thousand_do_not_follow() {
        let settings = settings("part");
        let target = device::choose(DeviceArg::Cpu).unwrap();
        let both = [Attention::Burn, Attention::Burn];
        let mut comparison = compare(&settings, both, &target).unwrap();
        comparison.judge().expect("a run follows itself");
        // Adam takes out a factor of the gradients; the learning rate puts it back.
        let wrong = Settings {
            attention: Attention::Burn,
            learning_rate: 1.001 * settings.learning_rate,
            ..settings.clone()
        };
        let text = Text::read(wrong.text.as_deref()).unwrap();
        let mut trainer = Trainer::new(wrong, text, &target.device).unwrap();
        comparison.candidate = losses(&mut trainer, "wrong").unwrap();
        comparison.judge().expect_err("the curves part");
        finish(settings);
    }
}
