//! The paper's grid in one element type, shape by shape.

use crate::bench::pool::Pool;
use crate::bench::record::Row;
use crate::bench::shape::ELEMENTS;
use anyhow::Result;
use cubecl::client::Client;
use fa2_cubecl::Problem;
use fa2_machine::KernelElement;
use indicatif::{ProgressBar, ProgressStyle};

/// Takes what was measured of a shape, before the next one is.
pub type Keep<'a> = dyn FnMut(Vec<Row>) -> Result<()> + 'a;

/// Measures all `problems` on one pool of inputs, with a progress bar.
///
/// # Errors
/// Those of `measure` and `keep`.
pub fn measure_each<E: KernelElement>(
    client: &Client,
    problems: &[Problem],
    keep: &mut Keep<'_>,
    mut measure: impl FnMut(&Pool<E>, &Problem) -> Result<Vec<Row>>,
) -> Result<()> {
    let most_rows = problems
        .iter()
        .map(|p| p.batch * p.heads_q * p.seq_q)
        .max()
        .unwrap_or(0);
    let pool = Pool::<E>::new(client, ELEMENTS, most_rows);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")?;
    let progress = ProgressBar::new(problems.len() as u64).with_style(style);
    for problem in problems {
        progress.set_message(format!(
            "{} D={} S={}",
            E::NAME,
            problem.head_dim,
            problem.seq_q
        ));
        keep(measure(&pool, problem)?)?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(())
}
