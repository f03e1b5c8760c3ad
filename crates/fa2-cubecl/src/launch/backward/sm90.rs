//! The backward by the kernels for SM90: that its main kernel is by warpgroups, behind one for tensor maps.

use super::{BwdTensors, KeyBuffers, backward};
use crate::arguments::backward::{BwdArguments, BwdStrides};
use crate::config::WARP;
use crate::config::backward::{BwdConfig, QuerySums};
use crate::error::{Fa2Error, Sm90Refusal};
use crate::heuristics::Gpu;
use crate::heuristics::backward::BwdPlan;
use crate::heuristics::backward::sm90::{choose_backward_sm90, refusal_of_backward_sm90};
use crate::kernel::backward_sm90::backward_keys_sm90;
use crate::kernel::backward_sm90::maps::{MAP_WORDS, backward_maps};
use crate::launch::sm90::valid_strides;
use crate::launch::{gpu, words};
use crate::problem::Problem;
use cubecl::client::Client;
use cubecl::prelude::*;

/// [`backward`] by the plan of [`choose_backward_sm90`].
///
/// # Errors
/// As [`backward`], where those kernels don't have the head size, and [`Fa2Error::Sm90`] where the device
/// or a stride is not for them.
pub fn backward_sm90(
    client: &Client,
    problem: &Problem,
    tensors: BwdTensors,
    query_sums: QuerySums,
) -> Result<BwdPlan, Fa2Error> {
    problem.validate()?;
    let query_sums = tensors.query_sums(query_sums);
    let plan = choose_backward_sm90(problem, gpu(client)?, query_sums)?;
    backward(client, problem, tensors, query_sums, Some(plan))
}

/// Enqueues the maps and the main kernel, of `cubes` cubes.
///
/// # Safety
/// Every row that the arguments reach lies in its buffer, and `terms` and `sums` have the sizes that
/// `config` gives them.
pub(super) unsafe fn launch_keys(
    client: &Client,
    cubes: u32,
    buffers: KeyBuffers,
    arguments: BwdArguments,
    config: BwdConfig,
) {
    let KeyBuffers {
        q,
        k,
        v,
        d_o,
        terms,
        sums,
        d_k,
        d_v,
    } = buffers;
    let maps = client.empty(MAP_WORDS as usize * size_of::<u32>());
    // SAFETY: the caller's promise; of `maps` the kernels write and read `MAP_WORDS` words.
    unsafe {
        backward_maps::launch_unchecked(
            client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(WARP),
            words(q.clone()),
            words(k.clone()),
            words(v.clone()),
            words(d_o.clone()),
            words(maps.clone()),
            arguments.launch(),
            config,
        );
        backward_keys_sm90::launch_unchecked(
            client,
            CubeCount::Static(cubes, 1, 1),
            CubeDim::new_1d(config.key_threads()),
            words(q),
            words(k),
            words(v),
            words(d_o),
            words(maps),
            words(terms),
            words(sums),
            words(d_k),
            words(d_v),
            arguments.launch(),
            config,
        );
    }
}

/// Why `plan` does not serve `problem`, if it is one of warpgroups and does not.
pub(super) fn refusal(
    plan: &BwdPlan,
    problem: &Problem,
    strides: &BwdStrides,
    gpu: Gpu,
) -> Option<Sm90Refusal> {
    if !plan.config.has_warpgroups() {
        return None;
    }
    let [q, k, v, _, d_o, ..] = *strides;
    refusal_of_backward_sm90(plan, problem, [q, k, v, d_o], gpu)
}

/// `strides`, those of Q, K, V and dO that are never stepped along made valid for a tensor map.
pub(super) fn mapped(problem: &Problem, mut strides: BwdStrides) -> BwdStrides {
    let Problem {
        batch,
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        ..
    } = *problem;
    let [q, k, v, _, d_o, ..] = &mut strides;
    for tensor in [q, d_o] {
        *tensor = valid_strides([batch, heads_q, seq_q], *tensor);
    }
    for tensor in [k, v] {
        *tensor = valid_strides([batch, heads_kv, seq_k], *tensor);
    }
    strides
}
