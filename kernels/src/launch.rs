//! The kernels in CubeCL's stream, over CubeCL's buffers.
//!
//! A launch is queued behind the client's earlier work and before its later work, with no wait on
//! host or device, under either of CubeCL's compile backends: nothing here is compiled by CubeCL.

mod driver;
mod error;

use crate::choose::{Choice, FwdProblem, Gpu, choose, choose_kernel};
use crate::params::{FwdParams, FwdStrides, TeachingParams};
use crate::{Dtype, KernelInfo, MaskKind};
use cubecl::client::Client;
use cubecl::server::Handle;
use driver::{Launch, function};
pub use error::CuteError;
use fa2_cubecl::{Fa2Error, FwdTensors, Mask, Problem, TensorRef};

/// Enqueues `O = softmax(scale Q K^T + mask) V` on the calling thread's stream, by a CuTe kernel.
///
/// `kernel` forces one; without it [`choose`] does. Returns what runs. A driver's refusal of the
/// launch itself shows as an error of the first read of O. A stream that the client was pinned to by
/// `set_stream` is not known here.
///
/// # Errors
/// [`CuteError`] for the first rule that the problem, a tensor, the kernel or the device breaks, or
/// the driver's refusal to load the kernel. Nothing is enqueued then.
pub fn forward(
    client: &Client,
    problem: &Problem,
    tensors: &FwdTensors,
    kernel: Option<&'static KernelInfo>,
) -> Result<Choice, CuteError> {
    let choice = plan(client, problem, kernel)?;
    fa2_cubecl::check_tensors(problem, tensors)?;
    let function = function(client, choice.kernel)?;
    let FwdTensors { q, k, v, o, lse } = tensors;
    let [q_strides, k_strides, v_strides, o_strides] = [q, k, v, o].map(strides);
    let sizes = FwdParams::new(&sizes(problem)?, &choice, problem.diagonal(), problem.scale);
    let launch = Launch {
        function,
        grid_x: choice.grid_x,
        threads: choice.kernel.threads,
        shared_bytes: choice.kernel.shared_bytes,
        reads: [&q.handle, &k.handle, &v.handle].map(binding).to_vec(),
        writes: [&o.handle, lse].map(binding).to_vec(),
    };
    // SAFETY: the kernel takes one `FwdParams`; `check_tensors` has shown that every row its sizes
    // and strides reach lies in its buffer.
    unsafe {
        launch.enqueue(client, move |addresses: [u64; 5]| {
            let [q, k, v, o, lse] = addresses;
            FwdParams {
                q,
                k,
                v,
                o,
                lse,
                q_strides,
                k_strides,
                v_strides,
                o_strides,
                ..sizes
            }
        });
    }
    Ok(choice)
}

/// Loads the kernel that [`forward`] would run `problem` on, and says which.
///
/// # Errors
/// As [`forward`], but for the tensors'.
pub fn prepare(
    client: &Client,
    problem: &Problem,
    kernel: Option<&'static KernelInfo>,
) -> Result<Choice, CuteError> {
    let choice = plan(client, problem, kernel)?;
    function(client, choice.kernel)?;
    Ok(choice)
}

/// How [`forward`] would run `problem` on the client's device.
///
/// # Errors
/// As [`forward`], but for the tensors' and the driver's.
pub fn plan(
    client: &Client,
    problem: &Problem,
    kernel: Option<&'static KernelInfo>,
) -> Result<Choice, CuteError> {
    problem.validate()?;
    let gpu = Gpu {
        shared_bytes: fa2_cubecl::gpu(client)?.shared_bytes,
    };
    let sizes = sizes(problem)?;
    Ok(match kernel {
        Some(kernel) => choose_kernel(kernel, &sizes, gpu)?,
        None => choose(&sizes, gpu)?,
    })
}

/// Enqueues a teaching kernel on contiguous f16 tensors `[heads_total, seq, 64]`.
///
/// # Errors
/// As [`forward`]; also where `seq` is no positive multiple of 64, or `kernel` no teaching kernel.
pub fn teaching(
    client: &Client,
    [heads_total, seq]: [usize; 2],
    [q, k, v, o]: [&Handle; 4],
    kernel: &'static KernelInfo,
) -> Result<(), CuteError> {
    let gpu = Gpu {
        shared_bytes: fa2_cubecl::gpu(client)?.shared_bytes,
    };
    let grid_x = crate::choose::teaching_grid(kernel, [heads_total, seq], gpu)?;
    let needed = (heads_total * seq * kernel.head_dim as usize) as u64 * u64::from(Dtype::BYTES);
    for (tensor, handle) in [("q", q), ("k", k), ("v", v), ("o", o)] {
        let bytes = handle.size_in_used();
        if bytes < needed {
            return Err(Fa2Error::OutOfBounds {
                tensor,
                bytes,
                needed,
            }
            .into());
        }
    }
    let launch = Launch {
        function: function(client, kernel)?,
        grid_x,
        threads: kernel.threads,
        shared_bytes: kernel.shared_bytes,
        reads: [q, k, v].map(binding).to_vec(),
        writes: vec![binding(o)],
    };
    let (seq, heads_total) = (seq as u32, heads_total as u32);
    // SAFETY: the kernel takes one `TeachingParams`, and every buffer holds the elements it counts.
    unsafe {
        launch.enqueue(client, move |[q, k, v, o]: [u64; 4]| TeachingParams {
            q,
            k,
            v,
            o,
            seq,
            heads_total,
        });
    }
    Ok(())
}

/// The device address of a buffer, after everything that was queued before.
///
/// # Errors
/// [`CuteError::Driver`] where an earlier launch left the buffer unwritten.
pub fn address(client: &Client, handle: &Handle) -> Result<u64, CuteError> {
    driver::address(client, handle).map_err(|error| CuteError::Driver {
        step: "find a buffer".into(),
        device: client.service_id().device.index_id,
        reason: format!("{error:?}"),
    })
}

fn binding(handle: &Handle) -> cubecl::server::BufferBinding {
    handle.clone().binding()
}

fn strides(tensor: &TensorRef) -> FwdStrides {
    let [batch, head, row] = tensor.strides.map(|stride| stride as i64);
    FwdStrides { batch, head, row }
}

/// The facts of `problem` that the choice of a kernel depends on.
///
/// # Errors
/// Where a size is over 2^32.
pub fn sizes(problem: &Problem) -> Result<FwdProblem, CuteError> {
    let size = |name, value: usize| {
        u32::try_from(value).map_err(|_| {
            CuteError::Problem(Fa2Error::TooLarge {
                name,
                value,
                limit: u32::MAX as usize,
            })
        })
    };
    Ok(FwdProblem {
        batch: size("batch", problem.batch)?,
        heads_q: size("heads_q", problem.heads_q)?,
        heads_kv: size("heads_kv", problem.heads_kv)?,
        seq_q: size("seq_q", problem.seq_q)?,
        seq_k: size("seq_k", problem.seq_k)?,
        head_dim: size("head_dim", problem.head_dim)?,
        dtype: match problem.dtype {
            fa2_cubecl::Dtype::F16 => Dtype::F16,
            fa2_cubecl::Dtype::Bf16 => Dtype::Bf16,
        },
        mask: match problem.mask {
            Mask::None => MaskKind::None,
            Mask::Causal(_) => MaskKind::Causal,
        },
    })
}
