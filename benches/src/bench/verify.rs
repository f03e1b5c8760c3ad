//! A result is checked before it is timed: rows of one head against the f64 oracle.

use crate::bench::pool::Pool;
use anyhow::{Context, Result, anyhow, ensure};
use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::{BwdPlan, Mask, Problem, TensorRef, backward, forward};
use fa2_machine::KernelElement;
use fa2_testing::gradient::{ExpectedGradients, Operands};
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
    let actual: Vec<E> = read(client, output.clone().offset_start(from).offset_end(unused))?;

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
    let [q, k, v, _] = &pool.host;
    let report = Expected::new(&case, &q[last], &k[head.clone()], &v[head]).output(&actual);
    ensure!(report.passed, "{problem:?}: {report}");
    Ok(())
}

/// Rows that the gradients are compared on; the oracle's work grows with their square.
const GRADIENT_ROWS: usize = 512;

/// Compares the gradients that `plan`'s kernels give for the first rows of `pool`, taken as one head.
///
/// # Errors
/// Where a launch fails or a result is wrong.
pub fn verify_gradients<E: KernelElement>(
    client: &Client,
    pool: &Pool<E>,
    problem: &Problem,
    plan: BwdPlan,
) -> Result<()> {
    let rows = GRADIENT_ROWS.min(problem.seq_q);
    let head = Problem {
        batch: 1,
        heads_q: 1,
        heads_kv: 1,
        seq_q: rows,
        seq_k: rows,
        ..*problem
    };
    let causal = match problem.mask {
        Mask::None => Causal::None,
        Mask::Causal(_) => Causal::BottomRight,
    };
    let case = Case::new("gradients", 1, 1, rows, problem.head_dim)
        .causal(causal)
        .scaled(f64::from(problem.scale));
    let part = |tensor: usize| pool.host[tensor][..rows * problem.head_dim].to_vec();
    let operands = Operands {
        q: part(0),
        k: part(1),
        v: part(2),
        d_o: part(3),
        d_lse: None,
    };
    let [d_q, d_k, d_v] = gradients(client, pool, &head, plan, 0)?;
    ExpectedGradients::new(&case, &operands)
        .judge(&d_q, &d_k, &d_v)
        .map_err(|wrong| anyhow!("{problem:?}: {wrong}"))
}

/// Runs all of `problem` and looks for elements that are not finite in the gradients of its last head.
///
/// # Errors
/// Where a launch fails or there are some.
pub fn verify_last_head<E: KernelElement>(
    client: &Client,
    pool: &Pool<E>,
    problem: &Problem,
    plan: BwdPlan,
) -> Result<()> {
    let last = problem.batch * problem.heads_q - 1;
    let found = gradients(client, pool, problem, plan, last)?;
    for (name, values) in ["dQ", "dK", "dV"].into_iter().zip(found) {
        let is_bad = |value: &&E| !value.to_f64().is_finite();
        let bad = values.iter().filter(is_bad).count();
        ensure!(
            bad == 0,
            "{problem:?}: {bad} elements of {name} are not finite"
        );
    }
    Ok(())
}

/// dQ, dK and dV of one head, counted over the batch, on set 0 of `pool`.
fn gradients<E: KernelElement>(
    client: &Client,
    pool: &Pool<E>,
    problem: &Problem,
    plan: BwdPlan,
    head: usize,
) -> Result<[Vec<E>; 3]> {
    forward(client, problem, pool.tensors(problem, 0), None)?;
    let tensors = pool.gradients(problem, 0);
    let sums = plan.config.query_sums();
    backward(client, problem, tensors.clone(), sums, Some(plan))?;
    let span = (problem.seq_q * problem.head_dim * size_of::<E>()) as u64;
    let start = head as u64 * span;
    let gradient = |tensor: Option<TensorRef>| {
        let handle = tensor.context("every gradient is asked for")?.handle;
        let behind = handle.size_in_used() - start - span;
        read::<E>(client, handle.offset_start(start).offset_end(behind))
    };
    let [d_k, d_v] = tensors.d_kv.map_or([None, None], |both| both.map(Some));
    Ok([gradient(tensors.d_q)?, gradient(d_k)?, gradient(d_v)?])
}

fn read<E: KernelElement>(client: &Client, handle: Handle) -> Result<Vec<E>> {
    let bytes = client
        .read_one(handle)
        .map_err(|error| anyhow!("{error:?}"))?;
    Ok(bytemuck::pod_collect_to_vec(&bytes[..]))
}
