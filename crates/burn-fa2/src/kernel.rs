//! From Burn's CUDA tensors to the kernels' operands, and back.

mod backward;
mod compiled;
mod device;
mod operand;

pub(crate) use backward::backward;
pub(crate) use device::CudaDevice;

use burn::{
    backend::{TensorMetadata, tensor::FloatTensor},
    tensor::{DType, Shape},
};
use burn_cubecl::{CubeBackend, ops::numeric::empty_device_contiguous_dtype, tensor::CubeTensor};
use fa2_cubecl::{Alignment, Dtype, FwdTensors, Problem};

use self::operand::{CHUNK_ELEMENTS, Reader, columns, operand, reference};
use crate::{
    backend::Call,
    composed, cute,
    options::{CausalAlignment, Mask},
    strategy::Forward,
    validate::Sizes,
};

/// O and LSE, by `kernel`, which has accepted the operands.
pub(crate) fn forward(
    q: FloatTensor<CubeBackend>,
    k: FloatTensor<CubeBackend>,
    v: FloatTensor<CubeBackend>,
    call: Call,
    kernel: Forward,
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

    let reader = match kernel {
        Forward::Hopper => Reader::CopyEngine,
        Forward::CubeCl | Forward::Cute => Reader::Threads,
    };
    let [q, k, v] = [q, k, v].map(|tensor| operand(tensor, problem.head_dim, reader));
    let tensors = FwdTensors {
        q: reference(&q),
        k: reference(&k),
        v: reference(&v),
        o: reference(&o),
        lse: lse.handle.clone(),
    };
    let launched = match kernel {
        Forward::Cute => cute::forward(&client, &problem, &tensors),
        Forward::Hopper => fa2_cubecl::forward_sm90(&client, &problem, tensors, None)
            .map_err(|error| error.to_string())
            .map(drop),
        Forward::CubeCl => fa2_cubecl::forward(&client, &problem, tensors, None)
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
