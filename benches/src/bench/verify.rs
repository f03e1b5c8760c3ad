//! A result is checked before it is timed: the last rows of one head against the f64 oracle.

use crate::bench::pool::Pool;
use anyhow::{Result, ensure};
use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::{Mask, Problem};
use fa2_machine::KernelElement;
use fa2_testing::{Case, Causal, Expected};

/// Query rows that are compared.
const ROWS: usize = 64;

/// Compares the last rows of the last head of O, which `problem` on set 0 of `pool` has given.
///
/// # Errors
/// Where the device fails or the result is wrong.
pub fn verify<E: KernelElement>(
    client: &Client,
    pool: &Pool<E>,
    problem: &Problem,
    output: &Handle,
) -> Result<()> {
    let Problem {
        batch,
        heads_q,
        seq_q,
        seq_k,
        head_dim,
        ..
    } = *problem;
    let rows = ROWS.min(seq_q);
    let heads = batch * heads_q;
    let elements = heads * seq_q * head_dim;
    let last = elements - rows * head_dim..elements;

    let from = (last.start * size_of::<E>()) as u64;
    let unused = output.size_in_used() - (elements * size_of::<E>()) as u64;
    let tail = output.clone().offset_start(from).offset_end(unused);
    let bytes = client
        .read_one(tail)
        .map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let actual: Vec<E> = bytemuck::pod_collect_to_vec(&bytes[..]);

    // With bottom-right alignment the last rows of a head are a problem of their own.
    let causal = match problem.mask {
        Mask::None => Causal::None,
        Mask::Causal(_) => Causal::BottomRight,
    };
    let case = Case::new("tail", 1, 1, rows, head_dim)
        .keys(seq_k)
        .causal(causal)
        .scaled(f64::from(problem.scale));
    let head = (elements - seq_k * head_dim)..elements;
    let [q, k, v] = &pool.host;
    let report = Expected::new(&case, &q[last], &k[head.clone()], &v[head]).output(&actual);
    ensure!(report.passed, "{problem:?}: {report}");
    Ok(())
}
