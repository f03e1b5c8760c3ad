//! Validate, choose, launch: the backward pass.

pub(crate) mod sm90;

use super::{MAX_CUBES, TensorRef, check_rows, check_tensor, gpu, words};
use crate::arguments::backward::{
    BwdArguments, QueryArguments, key_cubes, query_cubes, sums_bytes, terms_bytes,
};
use crate::arguments::cubes;
use crate::config::FwdConfig;
use crate::config::backward::{BwdConfig, Instructions, QuerySums};
use crate::error::{ConfigError, Fa2Error};
use crate::heuristics::Gpu;
use crate::heuristics::backward::{BwdPlan, SM90, choose_backward};
use crate::kernel::backward::convert::backward_convert;
use crate::kernel::backward::keys::backward_keys;
use crate::kernel::backward::preprocess::{LseGradient, PreprocessConfig, backward_preprocess};
use crate::kernel::backward::queries::{self, backward_queries};
use crate::mask::MaskKind;
use crate::problem::Problem;
use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;

/// What a backward pass reads and writes.
#[derive(Clone, Debug)]
pub struct BwdTensors {
    /// Queries, `[batch, heads_q, seq_q, head_dim]`.
    pub q: TensorRef,
    /// Keys, `[batch, heads_kv, seq_k, head_dim]`.
    pub k: TensorRef,
    /// Values, like the keys.
    pub v: TensorRef,
    /// Output of the forward pass, like the queries.
    pub o: TensorRef,
    /// Gradient of the output, like the queries. Strides of 0 are fine.
    pub d_o: TensorRef,
    /// LSE of the forward pass, f32, `[batch, heads_q, seq_q]` contiguous.
    pub lse: Handle,
    /// Gradient of the LSE, like it; zero if absent. Not read for rows that see no key.
    pub d_lse: Option<Handle>,
    /// Gradient of the queries, written; not computed if absent.
    pub d_q: Option<TensorRef>,
    /// Gradients of the keys and of the values, written; not computed if absent.
    pub d_kv: Option<[TensorRef; 2]>,
}

impl BwdTensors {
    /// Who sums up dQ where `asked` is asked for: only with all gradients in one kernel are there sums.
    fn query_sums(&self, asked: QuerySums) -> QuerySums {
        match (&self.d_q, &self.d_kv) {
            (Some(_), Some(_)) => asked,
            _ => QuerySums::Owned,
        }
    }
}

/// Enqueues the gradients of `O = softmax(scale Q K^T) V`, and of its LSE, on the client's stream.
///
/// `query_sums` says how dQ is summed up: all but [`QuerySums::Atomic`] give the same bits each time. dK and dV
/// always have them. `plan` forces a plan; without one the heuristics choose one that runs from SM80 on, which
/// [`QuerySums::Ordered`] has none of.
/// Returns the plan used. The workspace, two f32 a query row and the f32 sums of dQ where there are such,
/// comes from the client.
///
/// # Errors
/// [`Fa2Error`] for the first rule that the problem, a tensor, the plan or the device breaks.
/// Nothing is enqueued then.
pub fn backward(
    client: &Client,
    problem: &Problem,
    tensors: BwdTensors,
    query_sums: QuerySums,
    plan: Option<BwdPlan>,
) -> Result<BwdPlan, Fa2Error> {
    problem.validate()?;
    let gpu = gpu(client)?;
    let query_sums = tensors.query_sums(query_sums);
    let plan = match plan {
        Some(plan) => forced(plan, problem, query_sums, gpu)?,
        None => choose_backward(problem, gpu, query_sums)?,
    };
    let config = plan.config;
    let (query_cubes, key_cubes) = (query_cubes(problem, &config), key_cubes(problem, &config));
    let pass_cubes = plan.queries.map_or(0, |pass| cubes(problem, &pass.config));
    for (name, value) in [
        (
            "batch x heads_q x query blocks",
            query_cubes.max(pass_cubes),
        ),
        ("batch x heads_kv x key blocks", key_cubes),
    ] {
        if value > MAX_CUBES {
            return Err(Fa2Error::TooLarge {
                name,
                value,
                limit: MAX_CUBES,
            });
        }
    }
    check_tensors(problem, &tensors)?;

    let BwdTensors {
        q,
        k,
        v,
        o,
        d_o,
        lse,
        d_lse,
        d_q,
        d_kv,
    } = tensors;
    // Strides of what is not written are never used; its operand's do.
    let [of_d_k, of_d_v] = match &d_kv {
        Some([d_k, d_v]) => [d_k.strides, d_v.strides],
        None => [k.strides, v.strides],
    };
    let of_d_q = d_q.as_ref().map_or(q.strides, |d_q| d_q.strides);
    let [of_q, of_k, of_v, of_o, of_d_o] = [&q, &k, &v, &o, &d_o].map(|tensor| tensor.strides);
    let mut strides = [of_q, of_k, of_v, of_o, of_d_o, of_d_q, of_d_k, of_d_v];
    if let Some(refusal) = sm90::refusal(&plan, problem, &strides, gpu) {
        return Err(refusal.into());
    }
    if config.has_warpgroups() {
        strides = sm90::mapped(problem, strides);
    }
    let arguments = BwdArguments::new(problem, &plan, strides);
    let terms = client.empty(terms_bytes(problem, &config));
    // Without sums the kernels get some buffer in their place, and leave it alone.
    let sums = match plan.queries {
        None => client.empty(sums_bytes(problem, &config)),
        Some(_) => terms.clone(),
    };
    let threads = CubeDim::new_1d(config.threads());
    let grid = |cubes: usize| CubeCount::Static(cubes as u32, 1, 1);
    let preprocess = PreprocessConfig {
        backward: config,
        lse_gradient: match d_lse {
            Some(_) => LseGradient::Given,
            None => LseGradient::Zero,
        },
    };
    // SAFETY: `check_tensors` has shown that every row the shape and strides reach lies in its buffer,
    // the workspace has the sizes that the kernels assume, and they read and write nothing else.
    unsafe {
        backward_preprocess::launch_unchecked(
            client,
            grid(query_cubes),
            threads,
            words(o.handle),
            words(d_o.handle.clone()),
            words(lse.clone()),
            words(d_lse.unwrap_or(lse)),
            words(terms.clone()),
            words(sums.clone()),
            arguments.launch(),
            preprocess,
        );
        // Without keys there is no cube, and no gradient but zeros of dQ.
        if let Some([d_k, d_v]) = d_kv
            && key_cubes > 0
        {
            let buffers = KeyBuffers {
                q: q.handle.clone(),
                k: k.handle.clone(),
                v: v.handle.clone(),
                d_o: d_o.handle.clone(),
                terms: terms.clone(),
                sums: sums.clone(),
                d_k: d_k.handle,
                d_v: d_v.handle,
            };
            launch_keys(client, key_cubes as u32, buffers, arguments, config);
        }
        let Some(d_q) = d_q else { return Ok(plan) };
        match &plan.queries {
            None => backward_convert::launch_unchecked(
                client,
                grid(query_cubes),
                threads,
                words(sums),
                words(d_q.handle),
                arguments.launch(),
                config,
            ),
            Some(pass) => backward_queries::launch_unchecked(
                client,
                grid(pass_cubes),
                CubeDim::new_1d(pass.config.threads()),
                words(q.handle),
                words(k.handle),
                words(v.handle),
                words(d_o.handle),
                words(terms),
                words(d_q.handle),
                QueryArguments::new(problem, &config, pass, strides).launch(),
                pass.config,
            ),
        }
    }
    Ok(plan)
}

/// What the main kernel reads and writes.
struct KeyBuffers {
    q: Handle,
    k: Handle,
    v: Handle,
    d_o: Handle,
    terms: Handle,
    sums: Handle,
    d_k: Handle,
    d_v: Handle,
}

/// Enqueues the main kernel, of `cubes` cubes.
///
/// # Safety
/// Every row that the arguments reach lies in its buffer, and `terms` and `sums` have the sizes that
/// `config` gives them.
unsafe fn launch_keys(
    client: &Client,
    cubes: u32,
    buffers: KeyBuffers,
    arguments: BwdArguments,
    config: BwdConfig,
) {
    if config.has_warpgroups() {
        // SAFETY: the caller's promise.
        unsafe { sm90::launch_keys(client, cubes, buffers, arguments, config) };
        return;
    }
    // SAFETY: the caller's promise; the kernel reads and writes nothing else.
    unsafe {
        backward_keys::launch_unchecked(
            client,
            CubeCount::Static(cubes, 1, 1),
            CubeDim::new_1d(config.threads()),
            words(buffers.q),
            words(buffers.k),
            words(buffers.v),
            words(buffers.d_o),
            words(buffers.terms),
            words(buffers.sums),
            words(buffers.d_k),
            words(buffers.d_v),
            arguments.launch(),
            config,
        );
    }
}

/// `plan` if it was made for `problem`, and fits `gpu`.
pub(super) fn forced(
    plan: BwdPlan,
    problem: &Problem,
    query_sums: QuerySums,
    gpu: Gpu,
) -> Result<BwdPlan, Fa2Error> {
    let (columns, mask) = (problem.head_dim as u32, MaskKind::from(problem.mask));
    let config = plan.config;
    let instructions = config.instructions();
    let same = BwdConfig::made_of(instructions, problem.dtype, columns, mask, config.tile())?
        .with_query_sums(query_sums)
        .with_loads(config.loads());
    let mismatch = |config: String, problem: String| Err(Fa2Error::Mismatch { config, problem });
    if same != config {
        return mismatch(config.to_string(), same.to_string());
    }
    if plan.queries.is_some() != (query_sums == QuerySums::Owned) {
        let pass = |exists| {
            if exists {
                "a pass for dQ"
            } else {
                "no pass for dQ"
            }
        };
        let found = plan.queries.is_some();
        return mismatch(pass(found).into(), pass(!found).into());
    }
    if query_sums == QuerySums::Ordered && !config.has_warpgroups() {
        return Err(ConfigError::OrderedSums.into());
    }
    if config.instructions() == Instructions::Sm90 && gpu.sm < SM90 {
        return Err(ConfigError::Instructions(gpu.sm).into());
    }
    let mut bytes = config.shared_bytes();
    if let Some(pass) = plan.queries {
        let config = pass.config;
        let same = FwdConfig::new(problem.dtype, columns, mask, config.tile())?;
        if (same.dtype(), same.head_dim(), same.columns(), same.mask())
            != (
                config.dtype(),
                config.head_dim(),
                config.columns(),
                config.mask(),
            )
        {
            return mismatch(config.to_string(), same.to_string());
        }
        if config.stages() < 2 {
            return Err(ConfigError::QueryStages(config.stages()).into());
        }
        bytes = bytes.max(queries::shared_bytes(&config));
    }
    if bytes > gpu.shared_bytes {
        let limit = gpu.shared_bytes;
        return Err(ConfigError::SharedMemory { bytes, limit }.into());
    }
    Ok(plan)
}

/// Checks alignment and extent of all tensors.
fn check_tensors(problem: &Problem, tensors: &BwdTensors) -> Result<(), Fa2Error> {
    let Problem {
        batch,
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        head_dim,
        ..
    } = *problem;
    let (query, key) = ([batch, heads_q, seq_q], [batch, heads_kv, seq_k]);
    for (name, tensor, sizes) in [
        ("q", &tensors.q, query),
        ("k", &tensors.k, key),
        ("v", &tensors.v, key),
        ("o", &tensors.o, query),
        ("d_o", &tensors.d_o, query),
    ] {
        check_tensor(name, tensor, sizes, head_dim)?;
    }
    if let Some(d_q) = &tensors.d_q {
        check_tensor("d_q", d_q, query, head_dim)?;
    }
    for (name, tensor) in ["d_k", "d_v"].iter().zip(tensors.d_kv.iter().flatten()) {
        check_tensor(name, tensor, key, head_dim)?;
    }
    check_rows("lse", &tensors.lse, query)?;
    if let Some(d_lse) = &tensors.d_lse {
        check_rows("d_lse", d_lse, query)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
