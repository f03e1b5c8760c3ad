//! The gradients by the CubeCL kernels.

use burn::{
    backend::{TensorMetadata, ops::FloatTensorOps},
    tensor::{DType, Shape},
};
use burn_cubecl::{
    CubeBackend, kernel::into_contiguous, ops::numeric::empty_device_contiguous_dtype,
    tensor::CubeTensor,
};
use fa2_cubecl::{BwdTensors, QuerySums};

use super::{
    operand::{Reader, columns, operand, reference},
    problem,
};
use crate::{
    backend::BackwardCall,
    composed::{self, Saved},
    strategy::Backward,
    validate::Sizes,
};

/// dQ, dK and dV by `kernels`, which have accepted the operands; their forward pass ran on any kernel.
pub(crate) fn backward(
    saved: Saved<CubeBackend>,
    d_o: CubeTensor,
    d_lse: CubeTensor,
    call: BackwardCall,
    kernels: Backward,
) -> (CubeTensor, CubeTensor, CubeTensor) {
    let Saved { q, k, v, o, lse } = saved;
    let sizes = Sizes::new(q.shape().dims(), k.shape().dims(), v.shape().dims());
    let (dtype, device, client) = (q.dtype(), q.device(), q.client.clone());
    if sizes.without_scores() {
        return composed::no_gradients::<CubeBackend>([&q, &k, &v]);
    }
    let BackwardCall {
        forward: call,
        wanted,
    } = call;
    let [wants_q, wants_k, wants_v] = wanted;
    let problem = problem(&sizes, dtype, call.mask, call.scale);
    // Not `empty_device_dtype`, whose rows are padded on CUDA: the gradients would not be contiguous.
    let allocate = |heads, seq| {
        let shape = Shape::new([sizes.batch, heads, seq, problem.head_dim]);
        empty_device_contiguous_dtype(client.clone(), device.clone(), shape, dtype)
    };
    let d_q = wants_q.then(|| allocate(sizes.heads_q, sizes.seq_q));
    let d_kv = (wants_k || wants_v).then(|| {
        let gradient = || allocate(sizes.heads_kv, sizes.seq_k);
        [gradient(), gradient()]
    });
    // Of what is not wanted, the operand itself has the right shape.
    let (unwanted_q, unwanted_kv) = (q.clone(), [k.clone(), v.clone()]);

    // `sum().backward()` gives a dO that repeats one element: threads read rows of it as they are.
    let d_o = CubeBackend::float_cast(d_o, dtype.into());
    let reader = match kernels {
        Backward::CubeCl => Reader::Threads,
        Backward::Hopper => Reader::CopyEngine,
    };
    let [q, k, v, d_o] = [q, k, v, d_o].map(|tensor| operand(tensor, problem.head_dim, reader));
    let o = operand(o, problem.head_dim, Reader::Threads);
    let rows = |tensor| into_contiguous(CubeBackend::float_cast(tensor, DType::F32.into())).handle;
    let tensors = BwdTensors {
        q: reference(&q),
        k: reference(&k),
        v: reference(&v),
        o: reference(&o),
        d_o: reference(&d_o),
        lse: rows(lse),
        d_lse: Some(rows(d_lse)),
        d_q: d_q.as_ref().map(reference),
        d_kv: d_kv
            .as_ref()
            .map(|gradients| gradients.each_ref().map(reference)),
    };
    let query_sums = query_sums(wanted, call.deterministic, kernels);
    let launched = match kernels {
        Backward::CubeCl => fa2_cubecl::backward(&client, &problem, tensors, query_sums, None),
        Backward::Hopper => fa2_cubecl::backward_sm90(&client, &problem, tensors, query_sums),
    };
    if let Err(error) = launched {
        // The choice of the path has shown the problem to be legal and `operand` the tensors, so
        // this is a bug of ours.
        panic!("burn-fa2: a validated call was refused by the kernel: {error}");
    }
    let cut = |gradient| columns(gradient, sizes.head_dim);
    let d_q = d_q.map_or(unwanted_q, cut);
    let [d_k, d_v] = d_kv.map_or(unwanted_kv, |gradients| gradients.map(cut));
    (d_q, d_k, d_v)
}

/// How `kernels` sum up dQ where these of dQ, dK and dV are wanted: alone it has a pass of its own. Where its bits
/// must be the same each time, the kernels for SM90 add in order, and those for SM80 have that pass too.
pub(super) fn query_sums(
    [q, k, v]: [bool; 3],
    deterministic: bool,
    kernels: Backward,
) -> QuerySums {
    if !(q && (k || v)) {
        return QuerySums::Owned;
    }
    match (deterministic, kernels) {
        (false, _) => QuerySums::Atomic,
        (true, Backward::Hopper) => QuerySums::Ordered,
        (true, Backward::CubeCl) => QuerySums::Owned,
    }
}
