//! What the swap brings: a forward pass and its attention alone, burn-fa2 against Burn's own.
//!
//! The two take turns, so that a change of clocks meets both. Each run is timed on the host from an
//! idle device to an idle device, since Burn queues work and returns; the attention alone is queued
//! several times a run, to make the wait for the device small beside it. The median counts.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use burn::tensor::{Device, Distribution, FloatDType, Tensor};
use indicatif::ProgressBar;

use crate::attention::Attention;
use crate::embed::to_tensor;
use crate::model::{MiniLm, Sizes};
use crate::progress;

/// Sentences in the timed batch.
const BATCH: usize = 64;
/// Tokens in each: all that BERT has positions for.
const LENGTH: usize = 512;
/// Untimed runs of each: the first one compiles and tunes kernels, the others settle memory and
/// clocks.
const WARM_UP: usize = 3;
/// Timed runs of each; odd, so that the median is a run.
const ROUNDS: usize = 11;
/// Calls of the attention function in one run.
const CALLS: usize = 6;

/// What a piece of work took on both paths.
pub(crate) struct Speed {
    what: &'static str,
    duel: Duel,
    /// Calls in one timed run.
    calls: usize,
}

impl Speed {
    /// Times the attention function alone, at the model's sizes.
    pub(crate) fn of_attention(sizes: &Sizes, device: &Device, dtype: FloatDType) -> Result<Self> {
        let bar = progress::bar("timing the attention", WARM_UP + ROUNDS);
        let shape = [BATCH, LENGTH, sizes.heads, sizes.head_dim()];
        // As in the model: stored (B, S, H, D), seen as (B, H, S, D).
        let random = || {
            Tensor::<4>::random(shape, Distribution::Normal(0.0, 1.0), device)
                .cast(dtype)
                .swap_dims(1, 2)
        };
        let (q, k, v) = (random(), random(), random()); // (B, H, S, D)
        let duel = Duel::run(device, &bar, |attention| {
            (0..CALLS)
                .map(|_| attention.attend(q.clone(), k.clone(), v.clone()))
                .collect::<Vec<_>>()
        })?;
        bar.finish_and_clear();
        Ok(Self {
            what: "attention alone",
            duel,
            calls: CALLS,
        })
    }

    /// Times the whole of `model` on the text of `sentences` over and over.
    ///
    /// The first run waits for Burn, which compiles and tunes a kernel for each product of the
    /// model at this size: minutes, where no tuned result is stored yet.
    pub(crate) fn of_model(
        model: &MiniLm,
        sentences: &[Vec<u32>],
        device: &Device,
    ) -> Result<Self> {
        let bar = progress::bar(
            "timing the model (Burn tunes its kernels first)",
            WARM_UP + ROUNDS,
        );
        let rows = repeat_text(sentences);
        let batch: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let tokens = to_tensor(&batch, device); // (B, S)
        let duel = Duel::run(device, &bar, |attention| {
            model.forward(tokens.clone(), attention)
        })?;
        bar.finish_and_clear();
        Ok(Self {
            what: "whole model",
            duel,
            calls: 1,
        })
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, duel, calls } = self;
        let ms = |time: Duration| time.as_secs_f64() * 1e3 / *calls as f64;
        let (stock, flash) = (ms(duel.stock), ms(duel.flash));
        let ratio = stock / flash;
        write!(
            f,
            "  {what}, {BATCH} x {LENGTH} tokens: stock {stock:.3} ms, burn-fa2 {flash:.3} ms, \
             {ratio:.2}x"
        )
    }
}

/// Median times of one piece of work on both paths.
struct Duel {
    stock: Duration,
    flash: Duration,
}

impl Duel {
    /// Times `work`, which returns its results so that they live until the device has computed
    /// them.
    fn run<T>(device: &Device, bar: &ProgressBar, work: impl Fn(Attention) -> T) -> Result<Self> {
        let time = |attention| -> Result<Duration> {
            device
                .sync()
                .context("the device failed before a timed run")?;
            let start = Instant::now();
            let results = work(attention);
            device
                .sync()
                .with_context(|| format!("the device failed in a run of {attention:?}"))?;
            let elapsed = start.elapsed();
            drop(results);
            Ok(elapsed)
        };
        let (mut stock, mut flash) = (Vec::new(), Vec::new());
        for round in 0..WARM_UP + ROUNDS {
            let times = (time(Attention::Stock)?, time(Attention::Flash)?);
            if round >= WARM_UP {
                stock.push(times.0);
                flash.push(times.1);
            }
            bar.inc(1);
        }
        Ok(Self {
            stock: median(stock),
            flash: median(flash),
        })
    }
}

/// `BATCH` rows of `LENGTH` tokens: all sentences in a circle, each row starting one token later.
fn repeat_text(sentences: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let text = sentences.concat();
    let row = |start| text.iter().copied().cycle().skip(start).take(LENGTH);
    (0..BATCH).map(|start| row(start).collect()).collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn text_is_repeated_to_full_rows_that_differ() {
        let rows = repeat_text(&[vec![1, 2], vec![3]]);
        assert_eq!(rows.len(), BATCH);
        assert!(rows.iter().all(|row| row.len() == LENGTH));
        assert_eq!(
            (&rows[0][..4], &rows[1][..4]),
            (&[1, 2, 3, 1][..], &[2, 3, 1, 2][..])
        );
    }

    #[test]
    fn both_paths_run_equally_often_and_in_turns() {
        let runs = RefCell::new(Vec::new());
        Duel::run(&Device::flex(), &ProgressBar::hidden(), |attention| {
            runs.borrow_mut().push(attention);
        })
        .expect("a CPU can't fail to do nothing");
        let runs = runs.into_inner();
        assert_eq!(runs.len(), 2 * (WARM_UP + ROUNDS));
        assert!(
            runs.chunks(2)
                .all(|pair| pair == [Attention::Stock, Attention::Flash])
        );
    }

    #[test]
    fn times_are_shown_for_one_call_with_their_ratio() {
        let duel = |stock, flash| Duel {
            stock: Duration::from_millis(stock),
            flash: Duration::from_millis(flash),
        };
        let speed = Speed {
            what: "attention alone",
            duel: duel(24, 6),
            calls: 6,
        };
        let shown = speed.to_string();
        assert!(
            shown.contains("stock 4.000 ms, burn-fa2 1.000 ms, 4.00x"),
            "{shown}"
        );
    }

    #[test]
    fn median_is_the_middle_run() {
        let times = [9, 1, 5].map(Duration::from_millis).to_vec();
        assert_eq!(median(times), Duration::from_millis(5));
    }
}
