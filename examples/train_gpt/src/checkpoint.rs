//! Checkpoints: a folder for each, there in full or not at all.
//!
//! A checkpoint is written under another name, flushed to the disk and then renamed. It holds the
//! model and both moments as Burn's records, bit for bit, and `state.json`: the settings, the step
//! and the text's fingerprint. The place in the data follows from the step.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::module::Module;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::model::Gpt;
use crate::optimize::Moments;
use crate::settings::Settings;
use crate::text::Text;
use crate::trainer::Trainer;

/// How many checkpoints of a run are kept: the last, and one in case that is of no use.
const KEPT: usize = 2;
const PREFIX: &str = "checkpoint-";
/// Ends the name of one that is not complete.
const PARTIAL: &str = ".partial";

const STATE: &str = "state.json";
const MODEL: &str = "model.bpk";
const FIRST: &str = "first_moment.bpk";
const SECOND: &str = "second_moment.bpk";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    settings: Settings,
    /// Steps done.
    step: usize,
    text_fingerprint: u64,
}

/// Writes a checkpoint of `trainer` into `folder`, and drops those before the last two.
pub(crate) fn save(folder: &Path, trainer: &Trainer) -> Result<()> {
    let complete = folder.join(format!("{PREFIX}{:08}", trainer.step));
    let partial = folder.join(format!("{PREFIX}{:08}{PARTIAL}", trainer.step));
    write(&partial, trainer)
        .and_then(|()| replace(&partial, &complete))
        .with_context(|| format!("the checkpoint {} can't be written", complete.display()))?;
    let all = list(folder)?;
    for old in &all[..all.len().saturating_sub(KEPT)] {
        fs::remove_dir_all(old).with_context(|| format!("{} can't be removed", old.display()))?;
    }
    Ok(())
}

/// Continues the run whose last checkpoint is in `folder`, on `device` (without gradients).
pub(crate) fn resume(folder: &Path, device: &Device) -> Result<Trainer> {
    let last = list(folder)?.pop().with_context(|| {
        format!(
            "{} holds no checkpoint: leave --resume out to begin a run, or name its folder with --out",
            folder.display()
        )
    })?;
    let state = fs::read_to_string(last.join(STATE))?;
    let state: State = serde_json::from_str(&state)
        .with_context(|| format!("{} is of another version", last.join(STATE).display()))?;
    let text = Text::read(state.settings.text.as_deref())?;
    ensure!(
        text.fingerprint() == state.text_fingerprint,
        "{} changed since the checkpoint: a run resumes on the text that it began with",
        text.name
    );
    restore(&last, state, text, device)
        .with_context(|| format!("the checkpoint {} can't be read", last.display()))
}

fn restore(checkpoint: &Path, state: State, text: Text, device: &Device) -> Result<Trainer> {
    let State { settings, step, .. } = state;
    let sizes = settings.sizes;
    let mut trainer = Trainer::new(settings, text, device)?;
    let load = |model: Gpt, name| model.try_load_file(checkpoint.join(name));
    let moment = |name| load(Gpt::new(&sizes, 0, device), name);
    trainer.optimizer.restore(&Moments {
        first: moment(FIRST)?,
        second: moment(SECOND)?,
        steps: step,
    });
    trainer.model = load(trainer.model, MODEL)?;
    trainer.step = step;
    Ok(trainer)
}

fn write(folder: &Path, trainer: &Trainer) -> Result<()> {
    // What a run that was interrupted here left behind.
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let moments = trainer.optimizer.moments(&trainer.model, trainer.step);
    trainer.model.valid().save_file(folder.join(MODEL))?;
    moments.first.save_file(folder.join(FIRST))?;
    moments.second.save_file(folder.join(SECOND))?;
    let state = State {
        settings: trainer.settings.clone(),
        step: trainer.step,
        text_fingerprint: trainer.fingerprint,
    };
    fs::write(folder.join(STATE), serde_json::to_string_pretty(&state)?)?;
    for file in [MODEL, FIRST, SECOND, STATE] {
        File::open(folder.join(file))?.sync_all()?;
    }
    Ok(())
}

fn replace(partial: &Path, complete: &Path) -> Result<()> {
    if complete.exists() {
        fs::remove_dir_all(complete)?;
    }
    Ok(fs::rename(partial, complete)?)
}

/// The complete checkpoints in `folder`, the earliest first; none where there is no folder.
fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let step = path.file_name().and_then(|name| step_of(name.to_str()?));
        if let Some(step) = step {
            found.push((step, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn step_of(name: &str) -> Option<usize> {
    name.strip_prefix(PREFIX)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::toy;
    use crate::trainer::tests::losses;

    /// An empty folder of this test alone.
    fn folder(test: &str) -> PathBuf {
        let name = format!("train_gpt-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        folder
    }

    /// A run over a file, so that it can be resumed.
    fn settings(folder: &Path) -> Settings {
        fs::create_dir_all(folder).unwrap();
        let text = folder.join("text");
        let bytes: Vec<u8> = (0..4_000_u32).map(|at| (at * at % 251) as u8).collect();
        fs::write(&text, bytes).unwrap();
        Settings {
            text: Some(text),
            accumulate: 2,
            ..toy()
        }
    }

    fn begin(settings: &Settings) -> Trainer {
        let text = Text::read(settings.text.as_deref()).unwrap();
        Trainer::new(settings.clone(), text, &Device::flex()).unwrap()
    }

    #[test]
    fn a_resumed_run_has_the_curve_of_one_that_was_never_interrupted() {
        let folder = folder("resume");
        let settings = settings(&folder);
        let mut whole = begin(&settings);
        let straight = losses(&mut whole, 6);

        let mut first_half = begin(&settings);
        let mut pieces = losses(&mut first_half, 3);
        save(&folder, &first_half).unwrap();
        drop(first_half);
        let mut second_half = resume(&folder, &Device::flex()).unwrap();
        assert_eq!(second_half.settings, settings);
        pieces.extend(losses(&mut second_half, 3));

        // Bit for bit: a loss that is only near would hide a moment or a batch that is not restored.
        assert_eq!(pieces, straight);
        let judged = [whole, second_half].map(|run| run.validation_loss().unwrap());
        assert_eq!(judged[0], judged[1]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_last_two_are_kept_and_partial_ones_are_no_checkpoints() {
        let folder = folder("kept");
        let mut trainer = begin(&settings(&folder));
        for _ in 0..3 {
            trainer.step();
            save(&folder, &trainer).unwrap();
        }
        fs::create_dir(folder.join("checkpoint-00000009.partial")).unwrap();
        let steps: Vec<_> = list(&folder).unwrap();
        let steps = steps.iter().map(|path| path.file_name().unwrap());
        assert!(steps.eq(["checkpoint-00000002", "checkpoint-00000003"]));
        assert_eq!(resume(&folder, &Device::flex()).unwrap().step, 3);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_changed_text_is_refused() {
        let folder = folder("changed");
        let settings = settings(&folder);
        let mut trainer = begin(&settings);
        trainer.step();
        save(&folder, &trainer).unwrap();
        fs::write(settings.text.unwrap(), vec![7; 4_000]).unwrap();
        let error = resume(&folder, &Device::flex()).err().unwrap();
        assert!(error.to_string().contains("changed since"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_without_a_checkpoint_is_refused_with_a_way_out() {
        let error = resume(&folder("none"), &Device::flex()).err().unwrap();
        assert!(error.to_string().contains("--resume"), "{error}");
    }
}
