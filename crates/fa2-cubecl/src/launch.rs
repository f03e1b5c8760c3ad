//! Validate, choose, launch: the only file with a CubeCL client.

pub(crate) mod backward;
pub(crate) mod compile;
pub(crate) mod sm90;

use crate::arguments::{Arguments, cubes};
use crate::config::FwdConfig;
use crate::error::Fa2Error;
use crate::heuristics::{FwdPlan, Gpu, choose};
use crate::kernel::forward_sm80::forward_sm80;
use crate::mask::MaskKind;
use crate::problem::{Dtype, Problem};
use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;

/// First compute capability with cp.async and bf16 mma.sync.
const MIN_SM: u32 = 80;
/// Largest grid along x.
const MAX_CUBES: usize = i32::MAX as usize;
/// Bytes that the addresses of rows must be a multiple of.
const ROW_ALIGNMENT: u64 = 16;

/// A [batch, heads, rows, columns] tensor in device memory, its columns contiguous.
#[derive(Clone, Debug)]
pub struct TensorRef {
    /// Memory from the tensor's first element on.
    pub handle: Handle,
    /// Distances between batch entries, heads and rows, in elements.
    pub strides: [usize; 3],
}

/// What a forward pass reads and writes.
#[derive(Clone, Debug)]
pub struct FwdTensors {
    /// Queries, `[batch, heads_q, seq_q, head_dim]`.
    pub q: TensorRef,
    /// Keys, `[batch, heads_kv, seq_k, head_dim]`.
    pub k: TensorRef,
    /// Values, like the keys.
    pub v: TensorRef,
    /// Output, like the queries.
    pub o: TensorRef,
    /// Natural logarithm of the sum of exponentials, f32, `[batch, heads_q, seq_q]` contiguous.
    pub lse: Handle,
}

/// Enqueues `O = softmax(scale Q K^T + mask) V` on the client's stream.
///
/// `plan` forces a plan; without one the heuristics choose. Returns the plan used.
///
/// # Errors
/// [`Fa2Error`] for the first rule that the problem, a tensor, the plan or the device breaks.
/// Nothing is enqueued then.
pub fn forward(
    client: &Client,
    problem: &Problem,
    tensors: FwdTensors,
    plan: Option<FwdPlan>,
) -> Result<FwdPlan, Fa2Error> {
    problem.validate()?;
    let gpu = gpu(client)?;
    let plan = match plan {
        Some(plan) => forced(plan, problem, gpu)?,
        None => choose(problem, gpu)?,
    };
    let cubes = cubes(problem, &plan.config);
    check_cubes(cubes)?;
    check_tensors(problem, &tensors)?;

    let FwdTensors { q, k, v, o, lse } = tensors;
    let strides = [&q, &k, &v, &o].map(|tensor| tensor.strides);
    let shape = Arguments::new(problem, &plan, strides).launch();
    // SAFETY: `check_tensors` has shown that every row the shape and strides reach lies in its
    // buffer, and the kernel reads and writes no others.
    unsafe {
        forward_sm80::launch_unchecked(
            client,
            CubeCount::Static(cubes as u32, 1, 1),
            CubeDim::new_1d(plan.config.threads()),
            words(q.handle),
            words(k.handle),
            words(v.handle),
            words(o.handle),
            words(lse),
            shape,
            plan.config,
        );
    }
    Ok(plan)
}

/// Checks that a grid can have so many cubes.
fn check_cubes(cubes: usize) -> Result<(), Fa2Error> {
    if cubes > MAX_CUBES {
        return Err(Fa2Error::TooLarge {
            name: "batch x heads_q x query blocks",
            value: cubes,
            limit: MAX_CUBES,
        });
    }
    Ok(())
}

/// Whether the client's device can run the kernels.
///
/// # Errors
/// [`Fa2Error::Unsupported`] with the device and what it lacks.
pub fn device_support(client: &Client) -> Result<(), Fa2Error> {
    gpu(client).map(|_| ())
}

/// The facts of the client's device that plans depend on.
///
/// # Errors
/// [`Fa2Error::Unsupported`] where it is no NVIDIA GPU of SM80 or newer.
pub fn gpu(client: &Client) -> Result<Gpu, Fa2Error> {
    let properties = client.properties();
    // CubeCL keeps the compute capability only in the name of what it compiles for: `ptx_sm90`.
    let target = &properties.identity.fingerprint;
    let unsupported = |reason: String| Fa2Error::Unsupported {
        device: format!("{} ({target})", properties.identity.name),
        reason,
    };
    let sm = target
        .strip_prefix("ptx_sm")
        .and_then(|sm| sm.parse::<u32>().ok())
        .ok_or_else(|| unsupported("it is not an NVIDIA GPU under CubeCL's CUDA runtime".into()))?;
    if sm < MIN_SM {
        return Err(unsupported(format!(
            "compute capability {sm} is below {MIN_SM}"
        )));
    }
    Ok(Gpu {
        sm,
        shared_bytes: properties.hardware.max_shared_memory_size as u32,
    })
}

/// `plan` if it was made for `problem` and fits `gpu`.
fn forced(plan: FwdPlan, problem: &Problem, gpu: Gpu) -> Result<FwdPlan, Fa2Error> {
    let FwdPlan { config, .. } = plan;
    let mask = MaskKind::from(problem.mask);
    let same = FwdConfig::new(problem.dtype, problem.head_dim as u32, mask, config.tile())?;
    let fits = (same.dtype(), same.head_dim(), same.columns(), same.mask())
        == (
            config.dtype(),
            config.head_dim(),
            config.columns(),
            config.mask(),
        );
    if !fits {
        return Err(Fa2Error::Mismatch {
            config: config.to_string(),
            problem: same.to_string(),
        });
    }
    if config.shared_bytes() > gpu.shared_bytes {
        return Err(crate::error::ConfigError::SharedMemory {
            bytes: config.shared_bytes(),
            limit: gpu.shared_bytes,
        }
        .into());
    }
    Ok(plan)
}

/// Checks alignment and extent of all five tensors: what any engine's launch relies on.
///
/// # Errors
/// [`Fa2Error`] for the first tensor whose rows are misaligned or not all in its buffer.
pub fn check_tensors(problem: &Problem, tensors: &FwdTensors) -> Result<(), Fa2Error> {
    let Problem {
        batch,
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        head_dim,
        ..
    } = *problem;
    check_tensor("q", &tensors.q, [batch, heads_q, seq_q], head_dim)?;
    check_tensor("k", &tensors.k, [batch, heads_kv, seq_k], head_dim)?;
    check_tensor("v", &tensors.v, [batch, heads_kv, seq_k], head_dim)?;
    check_tensor("o", &tensors.o, [batch, heads_q, seq_q], head_dim)?;
    check_rows("lse", &tensors.lse, [batch, heads_q, seq_q])
}

/// Checks the extent of a contiguous f32 for each row.
fn check_rows(tensor: &'static str, handle: &Handle, sizes: [usize; 3]) -> Result<(), Fa2Error> {
    let needed = (sizes.iter().product::<usize>() * size_of::<f32>()) as u64;
    let bytes = handle.size_in_used();
    if needed > bytes {
        return Err(Fa2Error::OutOfBounds {
            tensor,
            bytes,
            needed,
        });
    }
    Ok(())
}

fn check_tensor(
    tensor: &'static str,
    reference: &TensorRef,
    sizes: [usize; 3],
    columns: usize,
) -> Result<(), Fa2Error> {
    let element = u64::from(Dtype::BYTES);
    let offset = reference.handle.offset_start.unwrap_or(0);
    if !offset.is_multiple_of(ROW_ALIGNMENT) {
        return Err(Fa2Error::Alignment {
            tensor,
            what: "the offset",
            value: offset,
            multiple: ROW_ALIGNMENT,
            unit: "bytes",
        });
    }
    if sizes.contains(&0) {
        return Ok(());
    }
    let mut last_row = 0;
    let names = ["the batch stride", "the head stride", "the row stride"];
    for ((size, stride), what) in sizes.into_iter().zip(reference.strides).zip(names) {
        let (steps, stride) = (size as u64 - 1, stride as u64);
        // A dimension of size 1 is never stepped along: its stride says nothing.
        if steps > 0 && !(stride * element).is_multiple_of(ROW_ALIGNMENT) {
            let multiple = ROW_ALIGNMENT / element;
            let unit = "elements";
            return Err(Fa2Error::Alignment {
                tensor,
                what,
                value: stride,
                multiple,
                unit,
            });
        }
        last_row += steps * stride;
    }
    let needed = (last_row + columns as u64) * element;
    let bytes = reference.handle.size_in_used();
    if needed > bytes {
        return Err(Fa2Error::OutOfBounds {
            tensor,
            bytes,
            needed,
        });
    }
    Ok(())
}

/// A buffer of 4-byte words.
fn words(handle: Handle) -> BufferArg {
    let length = handle.size_in_used() as usize / size_of::<u32>();
    // SAFETY: the length is that of the handle's memory.
    unsafe { BufferArg::from_raw_parts(handle, length) }
}
