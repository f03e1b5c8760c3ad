//! Launches of the forward on SM90: tensor maps, then the kernel.

use crate::arguments::{Arguments, cubes_of};
use crate::config::WARP;
use crate::config::sm90::FwdSm90Config;
use crate::error::Fa2Error;
use crate::heuristics::Gpu;
use crate::heuristics::sm90::{FwdSm90Plan, choose_sm90, refusal_of_sm90};
use crate::kernel::forward_sm90::forward_sm90 as kernel;
use crate::kernel::forward_sm90::maps::{WORKSPACE_WORDS, tensor_maps};
use crate::launch::{FwdTensors, TensorRef, check_cubes, check_tensors, gpu, words};
use crate::mask::MaskKind;
use crate::problem::Problem;
use cubecl::client::Client;
use cubecl::prelude::*;
use std::num::NonZeroU32;

/// Stride, in elements, of a dimension that is never stepped along: a map wants a valid one.
const ANY_STRIDE: usize = 8;

/// [`forward`](crate::forward) by the kernels for SM90.
///
/// # Errors
/// As [`forward`](crate::forward), and [`Fa2Error::Sm90`] where the device or a stride is not for them.
pub fn forward_sm90(
    client: &Client,
    problem: &Problem,
    tensors: FwdTensors,
    plan: Option<FwdSm90Plan>,
) -> Result<FwdSm90Plan, Fa2Error> {
    problem.validate()?;
    let gpu = gpu(client)?;
    let plan = match plan {
        Some(plan) => forced(plan, problem)?,
        None => choose_sm90(problem)?,
    };
    let FwdTensors { q, k, v, o, lse } = &tensors;
    check_serves(&plan, problem, [q, k, v], gpu)?;
    let works = cubes_of(problem, plan.config.block_m());
    check_cubes(works)?;
    check_tensors(problem, &tensors)?;

    let strides = strides(problem, [q, k, v, o]);
    let shape = || Arguments::sm90(problem, &plan, strides).launch();
    let [q, k, v, o] = [q, k, v, o].map(|tensor| tensor.handle.clone());
    let cubes = works.min(
        plan.cubes
            .map(NonZeroU32::get)
            .or(multiprocessors(client))
            .unwrap_or(works as u32) as usize,
    );
    let workspace = client.empty(WORKSPACE_WORDS as usize * size_of::<u32>());
    // SAFETY: `check_tensors` has shown that every row the shape and strides reach lies in its
    // buffer; the kernels read and write no others, and `WORKSPACE_WORDS` words of `workspace`.
    unsafe {
        tensor_maps::launch_unchecked(
            client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(WARP),
            words(q.clone()),
            words(k.clone()),
            words(v.clone()),
            words(workspace.clone()),
            shape(),
            plan.config,
        );
        kernel::launch_unchecked(
            client,
            CubeCount::Static(cubes as u32, 1, 1),
            CubeDim::new_1d(plan.config.threads()),
            words(q),
            words(k),
            words(v),
            words(workspace),
            words(o),
            words(lse.clone()),
            shape(),
            plan.config,
        );
    }
    Ok(plan)
}

/// Multiprocessors of the device, where CubeCL knows them.
fn multiprocessors(client: &Client) -> Option<u32> {
    client.properties().hardware.num_streaming_multiprocessors
}

fn check_serves(
    plan: &FwdSm90Plan,
    problem: &Problem,
    tensors: [&TensorRef; 3],
    gpu: Gpu,
) -> Result<(), Fa2Error> {
    let strides = tensors.map(|tensor| tensor.strides);
    match refusal_of_sm90(plan, problem, strides, gpu) {
        Some(refusal) => Err(refusal.into()),
        None => Ok(()),
    }
}

/// The strides of Q, K, V and O, those that are never stepped along made valid for a tensor map.
fn strides(problem: &Problem, tensors: [&TensorRef; 4]) -> [[usize; 3]; 4] {
    let Problem {
        batch,
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        ..
    } = *problem;
    let queries = [batch, heads_q, seq_q];
    let keys = [batch, heads_kv, seq_k];
    let sizes = [queries, keys, keys, queries];
    std::array::from_fn(|tensor| valid_strides(sizes[tensor], tensors[tensor].strides))
}

/// `strides`, those that are never stepped along made valid for a tensor map.
pub(super) fn valid_strides(sizes: [usize; 3], strides: [usize; 3]) -> [usize; 3] {
    let is_empty = sizes.contains(&0);
    std::array::from_fn(|axis| match sizes[axis] {
        0 | 1 => ANY_STRIDE,
        _ if is_empty => ANY_STRIDE,
        _ => strides[axis],
    })
}

/// `plan` if it was made for `problem`.
fn forced(plan: FwdSm90Plan, problem: &Problem) -> Result<FwdSm90Plan, Fa2Error> {
    let config = plan.config;
    let mask = MaskKind::from(problem.mask);
    let columns = problem.head_dim as u32;
    let same = FwdSm90Config::new(problem.dtype, columns, mask, config.tile())?;
    let facts = |config: &FwdSm90Config| {
        (
            config.dtype(),
            config.head_dim(),
            config.columns(),
            config.mask(),
        )
    };
    if facts(&same) != facts(&config) {
        return Err(Fa2Error::Mismatch {
            config: config.to_string(),
            problem: same.to_string(),
        });
    }
    Ok(plan)
}
