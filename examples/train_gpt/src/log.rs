//! What a run measured, step by step: `log.csv`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const FILE: &str = "log.csv";
const HEADER: &str = "step,loss,learning_rate,tokens_per_second,validation_loss";

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    /// Counted from 1.
    pub(crate) step: usize,
    /// In nats a token.
    pub(crate) loss: f64,
    pub(crate) learning_rate: f64,
    /// Over the steps since the line before.
    pub(crate) tokens_per_second: f64,
    /// After this step, where it was measured.
    pub(crate) validation_loss: Option<f64>,
}

/// The rows of a run, and the file that they go to.
pub(crate) struct Log {
    file: PathBuf,
    pub(crate) rows: Vec<Row>,
}

impl Log {
    /// A log in `folder`, with the rows there up to `step`: those of later steps are of a run that
    /// was interrupted after its last checkpoint, and come again.
    pub(crate) fn open(folder: &Path, step: usize) -> Result<Self> {
        let file = folder.join(FILE);
        let rows = match step {
            0 => Vec::new(),
            _ => {
                let text = fs::read_to_string(&file)
                    .with_context(|| format!("{}: can't be read", file.display()))?;
                let rows = text.lines().skip(1).map(parse).collect::<Option<Vec<_>>>();
                let rows = rows.with_context(|| format!("{} is no log", file.display()))?;
                rows.into_iter().filter(|row| row.step <= step).collect()
            }
        };
        Ok(Self { file, rows })
    }

    /// Writes all rows, under another name first, so that the file is never half written.
    pub(crate) fn save(&self) -> Result<()> {
        let mut text = format!("{HEADER}\n");
        for row in &self.rows {
            let Row {
                step,
                loss,
                learning_rate,
                tokens_per_second,
                validation_loss,
            } = row;
            let validation = validation_loss.map(|loss| loss.to_string());
            let validation = validation.unwrap_or_default();
            writeln!(
                text,
                "{step},{loss},{learning_rate},{tokens_per_second:.1},{validation}"
            )?;
        }
        let partial = self.file.with_extension("csv.partial");
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, &self.file))
            .with_context(|| format!("{}: can't be written", self.file.display()))
    }
}

fn parse(line: &str) -> Option<Row> {
    let mut fields = line.split(',');
    let mut next = || fields.next();
    Some(Row {
        step: next()?.parse().ok()?,
        loss: next()?.parse().ok()?,
        learning_rate: next()?.parse().ok()?,
        tokens_per_second: next()?.parse().ok()?,
        validation_loss: match next()? {
            "" => None,
            loss => Some(loss.parse().ok()?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_as_it_was_written_up_to_the_checkpoint() {
        let folder = std::env::temp_dir().join(format!("train_gpt-log-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let row = |step, validation_loss| Row {
            step,
            loss: 1.0 / step as f64,
            learning_rate: 1e-3,
            tokens_per_second: 1234.5,
            validation_loss,
        };
        let mut log = Log::open(&folder, 0).unwrap();
        log.rows = vec![row(1, None), row(2, Some(0.1 + 0.2)), row(3, None)];
        log.save().unwrap();
        let read = Log::open(&folder, 2).unwrap();
        assert_eq!(read.rows, log.rows[..2]);
        fs::write(folder.join(FILE), "step\nno numbers").unwrap();
        assert!(Log::open(&folder, 2).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
