//! From Burn's CUDA tensors to the kernels' operands, and back.

mod backward;
mod compiled;
mod operand;

pub(crate) use backward::backward;

use burn::{
    backend::{TensorMetadata, tensor::FloatTensor},
    tensor::{DType, Shape},
};
use burn_cubecl::{CubeBackend, ops::numeric::empty_device_contiguous_dtype, tensor::CubeTensor};
use cubecl::client::Client;
use fa2_cubecl::{
    Alignment, Dtype, Fa2Error, FwdPlan, FwdSm90Plan, FwdTensors, Problem, QuerySums, Sm90Refusal,
};

use self::{
    compiled::{Kernel, compiles},
    operand::{CHUNK_ELEMENTS, Reader, columns, operand, reference},
};
use crate::{
    backend::Call,
    composed, cute,
    error::Reason,
    options::{CausalAlignment, Mask},
    strategy::{Path, Request},
    validate::Sizes,
};

/// A GPU that the kernels run on.
pub(crate) struct CudaDevice {
    client: Client,
    gpu: fa2_cubecl::Gpu,
}

impl CudaDevice {
    pub(crate) fn new(device: &cubecl::Device) -> Result<Self, Reason> {
        let client = device.client();
        match fa2_cubecl::gpu(&client) {
            Ok(gpu) => Ok(Self { client, gpu }),
            Err(error) => Err(Reason::Capability(error.to_string())),
        }
    }

    /// Applies the CubeCL kernel's own rules while the caller can still be told.
    pub(crate) fn serves(&self, request: &Request<'_>) -> Result<(), Reason> {
        if request.sizes.without_scores() {
            return Ok(()); // Nothing is launched.
        }
        self.plan(request)?;
        // A path is for both passes.
        match request.device.is_autodiff() {
            true => self.plan_backward(request),
            false => Ok(()),
        }
    }

    /// Applies the rules of the CubeCL kernel for Hopper and those of the gradient's, and compiles it the
    /// first time.
    pub(crate) fn serves_by_hopper(&self, request: &Request<'_>) -> Result<(), Reason> {
        self.is_hopper()?;
        if request.sizes.without_scores() {
            return Ok(()); // Nothing is launched.
        }
        let plan = self.plan_hopper(request)?;
        if request.device.is_autodiff() {
            self.plan_backward(request)?;
        }
        compiles(&self.client, Kernel::Sm90(plan.config))
    }

    /// [`serves_by_hopper`](Self::serves_by_hopper), if no other kernel was measured to be faster: else
    /// nothing is compiled.
    pub(crate) fn is_fastest_by_hopper(&self, request: &Request<'_>) -> Result<(), Reason> {
        self.is_hopper()?;
        let problem = problem(request.sizes, request.dtype, request.mask, request.scale);
        match fa2_cubecl::sm80_is_faster(&problem) {
            true => Err(Reason::Slower),
            false => self.serves_by_hopper(request),
        }
    }

    fn is_hopper(&self) -> Result<(), Reason> {
        if self.gpu.is_sm90() {
            return Ok(());
        }
        let refusal = Sm90Refusal::Capability(self.gpu.sm);
        Err(Reason::Capability(refusal.to_string()))
    }

    fn plan_hopper(&self, request: &Request<'_>) -> Result<FwdSm90Plan, Reason> {
        let problem = problem(request.sizes, request.dtype, request.mask, request.scale);
        let rule = |error: Fa2Error| Reason::Rule(error.to_string());
        problem.validate().map_err(rule)?;
        let plan = fa2_cubecl::choose_sm90(&problem).map_err(|error| rule(error.into()))?;
        // `operand` gives these to what has strides that a tensor map can't hold.
        let rows = |heads, seq| [heads * seq, seq, 1].map(|rows| rows * problem.head_dim);
        let keys = rows(problem.heads_kv, problem.seq_k);
        let strides = [rows(problem.heads_q, problem.seq_q), keys, keys];
        match fa2_cubecl::refusal_of_sm90(&plan, &problem, strides, self.gpu) {
            Some(refusal) => Err(Reason::Capability(refusal.to_string())),
            None => Ok(plan),
        }
    }

    fn plan_backward(&self, request: &Request<'_>) -> Result<(), Reason> {
        let problem = problem(request.sizes, request.dtype, request.mask, request.scale);
        // Both ways to sum up dQ have the same tiles.
        match fa2_cubecl::choose_backward(&problem, self.gpu, QuerySums::Atomic) {
            Ok(_) => Ok(()),
            Err(error) => Err(Reason::Rule(format!("the gradient: {error}"))),
        }
    }

    fn plan(&self, request: &Request<'_>) -> Result<FwdPlan, Reason> {
        let problem = problem(request.sizes, request.dtype, request.mask, request.scale);
        let plan = problem
            .validate()
            .and_then(|()| fa2_cubecl::choose(&problem, self.gpu).map_err(Fa2Error::from));
        plan.map_err(|error| Reason::Rule(error.to_string()))
    }

    /// Whether CubeCL can compile the kernel for this device; compiles it the first time.
    pub(crate) fn compiles(&self, request: &Request<'_>) -> Result<(), Reason> {
        if request.sizes.without_scores() {
            return Ok(());
        }
        compiles(&self.client, Kernel::Sm80(self.plan(request)?.config))
    }

    /// Applies the CuTe kernels' own rules, and loads the one that will run.
    pub(crate) fn serves_by_cute(&self, request: &Request<'_>) -> Result<(), Reason> {
        let problem = problem(request.sizes, request.dtype, request.mask, request.scale);
        if request.sizes.without_scores() && cfg!(feature = "cute") {
            return Ok(());
        }
        cute::prepare(&self.client, &problem, request.device)
    }
}

/// O and LSE, by the kernel of `call.path`, which has accepted the operands.
pub(crate) fn forward(
    q: FloatTensor<CubeBackend>,
    k: FloatTensor<CubeBackend>,
    v: FloatTensor<CubeBackend>,
    call: Call,
) -> (CubeTensor, CubeTensor) {
    let sizes = Sizes::new(q.shape().dims(), k.shape().dims(), v.shape().dims());
    let (dtype, device, client) = (q.dtype(), q.device(), q.client.clone());
    if sizes.without_scores() {
        return composed::without_scores::<CubeBackend>(&sizes, dtype, &device);
    }
    let problem = problem(&sizes, dtype, call.mask, call.scale);
    // Not `empty_device_dtype`, whose rows are padded on CUDA: O would not be contiguous.
    let allocate =
        |shape, dtype| empty_device_contiguous_dtype(client.clone(), device.clone(), shape, dtype);
    let [batch, heads, seq, _] = sizes.output();
    let o = allocate(Shape::new([batch, heads, seq, problem.head_dim]), dtype);
    let lse = allocate(Shape::new(sizes.lse()), DType::F32);

    let reader = match call.path {
        Path::Hopper => Reader::CopyEngine,
        Path::CubeCl | Path::Cute | Path::Composed => Reader::Threads,
    };
    let [q, k, v] = [q, k, v].map(|tensor| operand(tensor, problem.head_dim, reader));
    let tensors = FwdTensors {
        q: reference(&q),
        k: reference(&k),
        v: reference(&v),
        o: reference(&o),
        lse: lse.handle.clone(),
    };
    let launched = match call.path {
        Path::Cute => cute::forward(&client, &problem, &tensors),
        Path::Hopper => fa2_cubecl::forward_sm90(&client, &problem, tensors, None)
            .map_err(|error| error.to_string())
            .map(drop),
        Path::CubeCl | Path::Composed => fa2_cubecl::forward(&client, &problem, tensors, None)
            .map_err(|error| error.to_string())
            .map(drop),
    };
    if let Err(error) = launched {
        // The choice of the path has shown the problem to be legal and `operand` the tensors, so
        // this is a bug of ours.
        panic!("burn-fa2: a validated call was refused by the kernel: {error}");
    }
    (columns(o, sizes.value_dim), lse)
}

fn problem(sizes: &Sizes, dtype: DType, mask: Mask, scale: f64) -> Problem {
    Problem {
        batch: sizes.batch,
        heads_q: sizes.heads_q,
        heads_kv: sizes.heads_kv,
        seq_q: sizes.seq_q,
        seq_k: sizes.seq_k,
        head_dim: sizes.head_dim.next_multiple_of(CHUNK_ELEMENTS),
        dtype: if dtype == DType::BF16 {
            Dtype::Bf16
        } else {
            Dtype::F16
        },
        mask: match mask {
            Mask::None => fa2_cubecl::Mask::None,
            Mask::Causal(CausalAlignment::BottomRight) => {
                fa2_cubecl::Mask::Causal(Alignment::BottomRight)
            }
            Mask::Causal(CausalAlignment::TopLeft) => fa2_cubecl::Mask::Causal(Alignment::TopLeft),
        },
        scale: scale as f32,
    }
}
