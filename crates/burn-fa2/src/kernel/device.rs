//! What the kernels of a GPU serve, said while the caller can still be told.

use cubecl::client::Client;
use fa2_cubecl::{BwdPlan, Fa2Error, FwdPlan, FwdSm90Plan, Problem, QuerySums, Sm90Refusal};

use super::{
    backward::query_sums,
    compiled::{Kernel, compiles},
    problem,
};
use crate::{
    cute,
    error::Reason,
    strategy::{Backward, Forward, Kernels, Request},
};

/// A GPU that the kernels run on.
pub(crate) struct CudaDevice {
    client: Client,
    gpu: fa2_cubecl::Gpu,
}

impl Kernels for CudaDevice {
    fn serves(&self, forward: Forward, request: &Request<'_>) -> Result<(), Reason> {
        let launches = !request.sizes.without_scores();
        match forward {
            Forward::CubeCl if launches => self.plan(request).map(drop),
            Forward::CubeCl => Ok(()),
            Forward::Hopper => {
                self.is_hopper()?;
                match launches {
                    true => self.plan_hopper(request).map(drop),
                    false => Ok(()),
                }
            }
            Forward::Cute if launches || !cfg!(feature = "cute") => {
                cute::prepare(&self.client, &of(request), request.device)
            }
            Forward::Cute => Ok(()),
        }
    }

    fn compiles(&self, forward: Forward, request: &Request<'_>) -> Result<(), Reason> {
        if request.sizes.without_scores() {
            return Ok(()); // Nothing is launched.
        }
        let kernel = match forward {
            Forward::CubeCl => Kernel::Sm80(self.plan(request)?.config),
            Forward::Hopper => Kernel::Sm90(self.plan_hopper(request)?.config),
            Forward::Cute => return Ok(()), // A compiler was there before us.
        };
        compiles(&self.client, kernel)
    }

    fn differentiates(&self, backward: Backward, request: &Request<'_>) -> Result<(), Reason> {
        if backward == Backward::Hopper {
            self.is_hopper()?;
        }
        if request.sizes.without_scores() {
            return Ok(()); // Nothing is launched.
        }
        match backward {
            Backward::CubeCl => self.plan_backward(request).map(drop),
            Backward::Hopper => {
                let BwdPlan {
                    config, queries, ..
                } = self.plan_backward_hopper(request)?;
                let queries = queries.map(|pass| pass.config);
                compiles(&self.client, Kernel::Backward(config, queries))
            }
        }
    }
}

impl CudaDevice {
    pub(crate) fn new(device: &cubecl::Device) -> Result<Self, Reason> {
        let client = device.client();
        match fa2_cubecl::gpu(&client) {
            Ok(gpu) => Ok(Self { client, gpu }),
            Err(error) => Err(Reason::Capability(error.to_string())),
        }
    }

    fn is_hopper(&self) -> Result<(), Reason> {
        if self.gpu.is_sm90() {
            return Ok(());
        }
        Err(refused(Sm90Refusal::Capability(self.gpu.sm)))
    }

    fn plan(&self, request: &Request<'_>) -> Result<FwdPlan, Reason> {
        let problem = of(request);
        problem.validate().map_err(rule)?;
        fa2_cubecl::choose(&problem, self.gpu).map_err(|error| rule(error.into()))
    }

    fn plan_hopper(&self, request: &Request<'_>) -> Result<FwdSm90Plan, Reason> {
        let problem = of(request);
        problem.validate().map_err(rule)?;
        let plan = fa2_cubecl::choose_sm90(&problem).map_err(|error| rule(error.into()))?;
        let [queries, keys] = mappable_strides(&problem);
        let strides = [queries, keys, keys];
        match fa2_cubecl::refusal_of_sm90(&plan, &problem, strides, self.gpu) {
            Some(refusal) => Err(refused(refusal)),
            None => Ok(plan),
        }
    }

    fn plan_backward(&self, request: &Request<'_>) -> Result<BwdPlan, Reason> {
        let sums = sums(request, Backward::CubeCl);
        fa2_cubecl::choose_backward(&of(request), self.gpu, sums)
            .map_err(|error| Reason::Rule(format!("the gradient: {error}")))
    }

    fn plan_backward_hopper(&self, request: &Request<'_>) -> Result<BwdPlan, Reason> {
        let (problem, sums) = (of(request), sums(request, Backward::Hopper));
        let plan = fa2_cubecl::choose_backward_sm90(&problem, self.gpu, sums)
            .map_err(|error| rule(error.into()))?;
        let [queries, keys] = mappable_strides(&problem);
        let strides = [queries, keys, keys, queries];
        match fa2_cubecl::refusal_of_backward_sm90(&plan, &problem, strides, self.gpu) {
            Some(refusal) => Err(refused(refusal)),
            None => Ok(plan),
        }
    }
}

fn of(request: &Request<'_>) -> Problem {
    problem(request.sizes, request.dtype, request.mask, request.scale)
}

fn sums(request: &Request<'_>, kernels: Backward) -> QuerySums {
    query_sums(request.tracked, request.deterministic, kernels)
}

/// The strides of contiguous queries and keys, which `operand` gives to what has some that a tensor map can't
/// hold.
fn mappable_strides(problem: &Problem) -> [[usize; 3]; 2] {
    [
        (problem.heads_q, problem.seq_q),
        (problem.heads_kv, problem.seq_k),
    ]
    .map(|(heads, seq)| [heads * seq, seq, 1].map(|rows| rows * problem.head_dim))
}

fn rule(error: Fa2Error) -> Reason {
    Reason::Rule(error.to_string())
}

fn refused(refusal: Sm90Refusal) -> Reason {
    Reason::Capability(refusal.to_string())
}
