//! From Burn's CUDA tensors to the kernels' operands, and back.

mod backward;

pub(crate) use backward::backward;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use burn::{
    backend::{TensorMetadata, ops::FloatTensorOps, tensor::FloatTensor},
    tensor::{DType, Shape, Slice},
};
use burn_cubecl::{
    CubeBackend, kernel::into_contiguous, ops::numeric::empty_device_contiguous_dtype,
    tensor::CubeTensor,
};
use cubecl::client::Client;
use fa2_cubecl::{
    Alignment, Dtype, Fa2Error, FwdConfig, FwdPlan, FwdTensors, Problem, QuerySums, TensorRef,
};

use crate::{
    backend::Call,
    composed, cute,
    error::Reason,
    options::{CausalAlignment, Mask},
    strategy::{Path, Request},
    validate::Sizes,
};

/// Elements of the 16-byte chunks that the kernel copies: every row starts at a multiple of it.
const CHUNK_ELEMENTS: usize = 8;
/// Bytes of such a chunk.
const CHUNK_BYTES: u64 = 16;

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

    /// Applies the rules of the CubeCL kernels for Hopper, and those of the gradient's.
    pub(crate) fn serves_by_hopper(&self, request: &Request<'_>) -> Result<(), Reason> {
        if request.sizes.without_scores() {
            return Ok(()); // Nothing is launched.
        }
        let problem = problem(request.sizes, request.dtype, request.mask, request.scale);
        let rule = |error: Fa2Error| Reason::Rule(error.to_string());
        problem.validate().map_err(rule)?;
        let plan = fa2_cubecl::choose_sm90(&problem).map_err(|error| rule(error.into()))?;
        // Strides that a tensor map can't hold reach past the memory of any GPU.
        if let Some(refusal) = fa2_cubecl::refusal_of_sm90(&plan, &problem, [[0; 3]; 3], self.gpu) {
            return Err(Reason::Capability(refusal.to_string()));
        }
        match request.device.is_autodiff() {
            true => self.plan_backward(request),
            false => Ok(()),
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
        type Answers = HashMap<(u16, FwdConfig), Result<(), Reason>>;
        static ANSWERS: Mutex<Option<Answers>> = Mutex::new(None);
        if request.sizes.without_scores() {
            return Ok(());
        }
        let config = self.plan(request)?.config;
        let key = (self.client.service_id().device.index_id, config);
        // A panic while compiling leaves the map as it was.
        let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
        answers
            .get_or_insert_default()
            .entry(key)
            .or_insert_with(|| {
                fa2_cubecl::compile(&self.client, config)
                    .map_err(|error| Reason::Compilation(error.to_string()))
            })
            .clone()
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

    let [q, k, v] = [q, k, v].map(|tensor| operand(tensor, problem.head_dim));
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

/// `tensor` with `head_dim` columns and rows that the kernel can read: itself wherever possible.
fn operand(tensor: CubeTensor, head_dim: usize) -> CubeTensor {
    let tensor = padded(tensor, head_dim);
    if is_readable(&tensor) {
        return tensor;
    }
    let tensor = into_contiguous(tensor);
    // Contiguous already, but in the middle of somebody's allocation.
    if is_readable(&tensor) {
        tensor
    } else {
        tensor.copy()
    }
}

/// With zero columns up to `head_dim`: they add nothing to the scores, and their output is cut off.
fn padded(tensor: CubeTensor, head_dim: usize) -> CubeTensor {
    let [batch, heads, seq, columns] = tensor.shape().dims();
    if columns == head_dim {
        return tensor;
    }
    let (shape, dtype) = (Shape::new([batch, heads, seq, head_dim]), tensor.dtype());
    let zeros = CubeBackend::float_zeros(shape, &tensor.device(), dtype.into());
    CubeBackend::float_slice_assign(zeros, &first_columns(&tensor.shape()), tensor)
}

/// The first columns of O, without those of the padding.
fn columns(o: CubeTensor, columns: usize) -> CubeTensor {
    let [batch, heads, seq, padded] = o.shape().dims();
    if columns == padded {
        return o;
    }
    CubeBackend::float_slice(o, &first_columns(&Shape::new([batch, heads, seq, columns])))
}

fn first_columns(shape: &Shape) -> Vec<Slice> {
    shape.iter().map(|size| Slice::from(0..*size)).collect()
}

/// Whether columns are adjacent and every row starts at a multiple of 16 bytes.
fn is_readable(tensor: &CubeTensor) -> bool {
    if tensor.meta.is_tiled() {
        return false;
    }
    let (offset, strides) = (tensor.handle.offset_start.unwrap_or(0), strides(tensor));
    offset.is_multiple_of(CHUNK_BYTES)
        && strides[3] == 1
        && strides[..3]
            .iter()
            .all(|stride| stride.is_multiple_of(CHUNK_ELEMENTS))
}

/// The strides, with that of an axis of size 1 as 0: it is never stepped along and may hold
/// anything.
fn strides(tensor: &CubeTensor) -> [usize; 4] {
    let (shape, strides) = (tensor.meta.shape(), tensor.meta.strides());
    [0, 1, 2, 3].map(|axis| match (axis, shape[axis]) {
        (0..3, 1) => 0,
        _ => strides[axis],
    })
}

fn reference(tensor: &CubeTensor) -> TensorRef {
    let [batch, head, row, _] = strides(tensor);
    TensorRef {
        handle: tensor.handle.clone(),
        strides: [batch, head, row],
    }
}
