//! When a round is timed: so many in a row, or each when a conductor says so.
//!
//! The conductor, `benches/peers.py --beside`, times a round of the peers' kernels between two of ours. For each
//! shape it reads a line `ready SHAPE`, SHAPE being JSON; answers are lines on standard output, as all that this
//! program prints there, and commands are lines on standard input:
//!
//! | command | does | answer |
//! |---|---|---|
//! | `round` | times one round of all windows | `done` |
//! | `next` | ends the shape | `ready SHAPE` of the next one, or the end of the output |

use crate::bench::shape::Shape;
use crate::bench::window::{Window, time_round};
use anyhow::Result;
use clap::Args;
use fa2_cubecl::Problem;
use std::fmt;
use std::io::{self, BufRead, Write};

/// Why a shape has no times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PaceError {
    /// Nothing was timed.
    #[error("no round was timed at {0}: its median needs one at least")]
    NoRound(Shape),
    /// A line that is no command.
    #[error(
        "--paced: at {shape} the conductor said {said:?}, and there are \"round\" and \"next\""
    )]
    Unknown {
        /// Where.
        shape: Shape,
        /// The line.
        said: String,
    },
    /// The end of the input within a shape.
    #[error("--paced: the conductor's input ended at {0} without \"next\"")]
    Ended(Shape),
}

/// Options of the pace.
#[derive(Debug, Args)]
pub struct PaceArgs {
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Time each round when standard input says so, in turn with `benches/peers.py --beside`.
    #[arg(long, conflicts_with = "rounds")]
    paced: bool,
    /// Least time of a window, in milliseconds.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    window_ms: u32,
}

impl PaceArgs {
    /// Who says when a round is timed.
    #[must_use]
    pub fn pace(&self) -> Pace {
        match self.paced {
            true => Pace::Told,
            false => Pace::Rounds(self.rounds),
        }
    }

    /// Least time of a window, in milliseconds.
    #[must_use]
    pub fn window_ms(&self) -> f64 {
        self.window_ms.into()
    }
}

/// Who says when a round is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Nobody: so many, one behind the other.
    Rounds(usize),
    /// The conductor.
    Told,
}

impl Pace {
    /// Times rounds of all windows, the one that goes first rotating from round to round.
    ///
    /// # Errors
    /// Where a launch or the device fails; a [`PaceError`].
    pub fn time(self, problem: &Problem, windows: &mut [Window<'_>]) -> Result<()> {
        // Standard output is not kept locked: other threads of this process may print.
        let pipes = (io::stdin().lock(), io::stdout());
        self.drive(&problem.into(), pipes, |round| time_round(windows, round))
    }

    /// Calls `round` with 0, 1, ... at the pace, which needs the pipes where it is told.
    fn drive(
        self,
        shape: &Shape,
        (commands, answers): (impl BufRead, impl Write),
        round: impl FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let rounds = match self {
            Self::Rounds(rounds) => (0..rounds).try_for_each(round).map(|()| rounds)?,
            Self::Told => obey(shape, commands, answers, round)?,
        };
        match rounds {
            0 => Err(PaceError::NoRound(shape.clone()).into()),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rounds(rounds) => write!(f, "{rounds} rounds"),
            Self::Told => f.write_str("rounds paced from outside, in turn with another program's"),
        }
    }
}

/// Does what it is told at one shape. Returns how many rounds that were.
fn obey(
    shape: &Shape,
    commands: impl BufRead,
    mut answers: impl Write,
    mut round: impl FnMut(usize) -> Result<()>,
) -> Result<usize> {
    // Unflushed, an answer could stay here while both sides wait.
    let mut answer = |line: &str| {
        writeln!(answers, "{line}")?;
        answers.flush()
    };
    answer(&format!("ready {shape}"))?;
    let mut rounds = 0;
    for command in commands.lines() {
        match command?.as_str() {
            "round" => {
                round(rounds)?;
                rounds += 1;
                answer("done")?;
            }
            "next" => return Ok(rounds),
            said => {
                let (shape, said) = (shape.clone(), said.into());
                return Err(PaceError::Unknown { shape, said }.into());
            }
        }
    }
    Err(PaceError::Ended(shape.clone()).into())
}

#[cfg(test)]
mod tests;
