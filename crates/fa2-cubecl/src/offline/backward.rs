//! The backward kernels compiled without a GPU, and the arguments of their launches.

pub use crate::arguments::backward::BwdStrides;

use super::{
    LaunchArguments, Ptx, buffer, compile_definition, device_properties, finish, push, settings,
    strides,
};
use crate::arguments::backward::{
    BwdArguments, QueryArguments, key_cubes, query_cubes, sums_bytes, terms_bytes,
};
use crate::arguments::cubes;
use crate::config::WARP;
use crate::config::backward::BwdConfig;
use crate::error::Fa2Error;
use crate::heuristics::FwdPlan;
use crate::heuristics::backward::BwdPlan;
use crate::kernel::backward::convert::backward_convert::BackwardConvert;
use crate::kernel::backward::keys::backward_keys::BackwardKeys;
use crate::kernel::backward::preprocess::backward_preprocess::BackwardPreprocess;
use crate::kernel::backward::preprocess::{LseGradient, PreprocessConfig};
use crate::kernel::backward::queries::QueryShapeCompilationArg;
use crate::kernel::backward::queries::backward_queries::BackwardQueries;
use crate::kernel::backward::scheduler::BwdShapeCompilationArg;
use crate::kernel::backward_sm90::backward_keys_sm90::BackwardKeysSm90;
use crate::kernel::backward_sm90::maps::backward_maps::BackwardMaps;
use crate::problem::Problem;
use cubecl::InfoBuilder;
use cubecl::prelude::*;
use std::sync::Arc;

/// A kernel of the backward pass; buffers in the order of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BwdKernel {
    /// O, dO, LSE, dLSE, row terms, sums of dQ.
    Preprocess(LseGradient),
    /// Q, K, V, dO, row terms, sums of dQ, dK, dV.
    Keys,
    /// Q, K, V, dO, their maps.
    Maps,
    /// Q, K, V, dO, their maps, row terms, sums of dQ, dK, dV: the main kernel by warpgroups.
    KeysSm90,
    /// Sums of dQ, dQ.
    Convert,
    /// Q, K, V, dO, row terms, dQ: the pass for dQ alone.
    Queries,
}

impl BwdKernel {
    const fn buffers(self) -> usize {
        match self {
            Self::Preprocess(_) | Self::Queries => 6,
            Self::Keys => 8,
            Self::Maps => 5,
            Self::KeysSm90 => 9,
            Self::Convert => 2,
        }
    }

    /// The kernels of a plan, in the order of their launches.
    #[must_use]
    pub fn of(plan: &BwdPlan, lse_gradient: LseGradient) -> Vec<Self> {
        let mut kernels = vec![Self::Preprocess(lse_gradient)];
        match plan.config.has_warpgroups() {
            true => kernels.extend([Self::Maps, Self::KeysSm90]),
            false => kernels.push(Self::Keys),
        }
        kernels.push(match plan.queries {
            Some(_) => Self::Queries,
            None => Self::Convert,
        });
        kernels
    }

    /// Threads of a cube (CTA).
    #[must_use]
    pub fn threads(self, plan: &BwdPlan) -> u32 {
        match (self, plan.queries) {
            (Self::Queries, Some(queries)) => queries.config.threads(),
            (Self::Maps, _) => WARP,
            (Self::KeysSm90, _) => plan.config.key_threads(),
            _ => plan.config.threads(),
        }
    }
}

/// Bytes that a backward pass needs beside its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Of the row terms.
    pub terms: usize,
    /// Of the sums of dQ.
    pub sums: usize,
}

/// The workspace of a plan.
#[must_use]
pub fn workspace(problem: &Problem, config: &BwdConfig) -> Workspace {
    Workspace {
        terms: terms_bytes(problem, config),
        sums: sums_bytes(problem, config),
    }
}

/// Compiles a kernel of `plan` for compute capability `sm` (80, 89, 90, ...).
///
/// # Errors
/// The compiler's message; or that the plan has no such kernel.
pub fn compile(kernel: BwdKernel, plan: &BwdPlan, sm: u32) -> Result<Ptx, String> {
    let config = plan.config;
    let settings = settings(kernel.threads(plan));
    let (device, target) = (device_properties(), Arc::new(TargetProperties::default()));
    let definition = match kernel {
        BwdKernel::Preprocess(lse_gradient) => {
            let backward = config;
            cubecl::define_kernel(&BackwardPreprocess::new(
                settings,
                device,
                target,
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                shape(),
                PreprocessConfig {
                    backward,
                    lse_gradient,
                },
            ))
        }
        BwdKernel::Keys => cubecl::define_kernel(&BackwardKeys::new(
            settings,
            device,
            target,
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            shape(),
            config,
        )),
        BwdKernel::Maps => cubecl::define_kernel(&BackwardMaps::new(
            settings,
            device,
            target,
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            shape(),
            config,
        )),
        BwdKernel::KeysSm90 => cubecl::define_kernel(&BackwardKeysSm90::new(
            settings,
            device,
            target,
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            shape(),
            config,
        )),
        BwdKernel::Convert => cubecl::define_kernel(&BackwardConvert::new(
            settings,
            device,
            target,
            buffer(),
            buffer(),
            shape(),
            config,
        )),
        BwdKernel::Queries => cubecl::define_kernel(&BackwardQueries::new(
            settings,
            device,
            target,
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            query_shape(),
            queries(plan)?.config,
        )),
    };
    compile_definition(definition.map_err(|error| format!("{error:?}"))?, sm)
}

/// What a launch of `kernel` under `plan` passes for `problem`.
///
/// # Errors
/// The rule that the problem breaks.
pub fn arguments(
    kernel: BwdKernel,
    problem: &Problem,
    plan: &BwdPlan,
    strides: BwdStrides,
) -> Result<LaunchArguments, Fa2Error> {
    problem.validate()?;
    let mut info = InfoBuilder::default();
    if let (BwdKernel::Queries, Some(queries)) = (kernel, &plan.queries) {
        let arguments = QueryArguments::new(problem, &plan.config, queries, strides);
        push(&mut info, arguments.forward);
        for stride in arguments.d_o {
            info.scalars.push(stride);
        }
        info.scalars.push(arguments.term_rows);
        info.scalars.push(arguments.scale);
        return Ok(LaunchArguments {
            cubes: cubes(problem, &queries.config) as u32,
            shape: finish(info, kernel.buffers()),
        });
    }
    let arguments = BwdArguments::new(problem, plan, strides);
    for count in arguments.counts {
        info.scalars.push(count);
    }
    info.scalars.push(arguments.diagonal);
    for scale in arguments.scales {
        info.scalars.push(scale);
    }
    for stride in arguments.strides.as_flattened() {
        info.scalars.push(*stride);
    }
    let cubes = match kernel {
        BwdKernel::Maps => 1,
        BwdKernel::Keys | BwdKernel::KeysSm90 => key_cubes(problem, &plan.config),
        _ => query_cubes(problem, &plan.config),
    };
    Ok(LaunchArguments {
        cubes: cubes as u32,
        shape: finish(info, kernel.buffers()),
    })
}

fn queries(plan: &BwdPlan) -> Result<FwdPlan, String> {
    plan.queries
        .ok_or_else(|| "the plan has no pass for dQ alone".into())
}

fn query_shape() -> QueryShapeCompilationArg {
    QueryShapeCompilationArg {
        forward: super::shape(),
        d_o: strides(),
        term_rows: (),
        scale: (),
    }
}

/// The shape's fields are run-time scalars: nothing of them is compiled in.
fn shape() -> BwdShapeCompilationArg {
    BwdShapeCompilationArg {
        seq_q: (),
        seq_k: (),
        head_dim: (),
        heads_q: (),
        heads_kv: (),
        group_size: (),
        heads_total: (),
        section: (),
        m_blocks: (),
        n_blocks: (),
        diagonal: (),
        scale: (),
        scale_log2: (),
        q: strides(),
        k: strides(),
        v: strides(),
        o: strides(),
        d_o: strides(),
        d_q: strides(),
        d_k: strides(),
        d_v: strides(),
    }
}
