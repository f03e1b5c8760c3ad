//! One measurement, in the process that `bench` starts for it: training steps, each timed from an
//! idle device to an idle device.

use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::device::{self, DeviceArg};
use crate::path::Path;
use crate::settings::Settings;
use crate::text::Text;
use crate::trainer::{Trainer, value};
use crate::verify;

/// One measurement of `bench`.
#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// Settings as JSON
    #[arg(long, value_parser = parse)]
    settings: Box<Settings>,

    #[arg(long, value_enum)]
    device: DeviceArg,

    /// Steps before the timed ones
    #[arg(long)]
    warm_up: usize,

    /// Timed steps
    #[arg(long)]
    rounds: usize,
}

fn parse(json: &str) -> Result<Box<Settings>> {
    Ok(serde_json::from_str(json)?)
}

/// What the process prints on its last line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// The path of the attention, in the words of the records.
    pub(crate) path: String,
    /// Milliseconds of each timed step.
    pub(crate) ms: Vec<f64>,
    /// Where the device counts.
    pub(crate) peak_bytes: Option<u64>,
    /// Of the last step.
    pub(crate) loss: f64,
}

/// Measures, and prints the measurement as a line of JSON.
pub(crate) fn run(args: &MeasureArgs) -> Result<()> {
    let target = device::choose(args.device)?;
    let settings = *args.settings.clone();
    verify::check(&settings, &target.device)?;
    let path = Path::of(settings.attention, &settings, &target.device)?;
    let text = Text::read(settings.text.as_deref())?;
    let mut trainer = Trainer::new(settings, text, &target.device)?;
    let mut loss = 0.0;
    let mut ms = Vec::new();
    for round in 0..args.warm_up + args.rounds {
        let start = Instant::now();
        loss = value(trainer.step())?;
        // The loss is there before the weights are.
        trainer.device.sync().context("the device failed")?;
        if round >= args.warm_up {
            ms.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let measurement = Measurement {
        path: path.name().to_string(),
        ms,
        peak_bytes: device::peak_bytes(&target.device),
        loss,
    };
    println!("{}", serde_json::to_string(&measurement)?);
    Ok(())
}
