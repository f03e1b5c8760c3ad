//! Which kernel serves a problem, and how it runs.

use crate::error::ChooseError;
use crate::kernels::{Dtype, Family, KernelInfo, MaskKind, kernels};

/// The facts of a problem that the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FwdProblem {
    /// Batch entries.
    pub batch: u32,
    /// Heads of Q and O.
    pub heads_q: u32,
    /// Heads of K and V; a divisor of `heads_q`.
    pub heads_kv: u32,
    /// Rows of Q and O.
    pub seq_q: u32,
    /// Rows of K and V.
    pub seq_k: u32,
    /// Columns of all four.
    pub head_dim: u32,
    /// Element type.
    pub dtype: Dtype,
    /// Which keys a query sees.
    pub mask: MaskKind,
}

/// What the choice needs to know of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Shared memory that one CTA can have, in bytes: the device's opt-in maximum.
    pub shared_bytes: u32,
}

/// How a problem runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The kernel.
    pub kernel: &'static KernelInfo,
    /// CTAs along x; y and z are 1.
    pub grid_x: u32,
    /// Blocks of query rows.
    pub m_blocks: u32,
    /// Heads of a section of the schedule.
    pub section: u32,
}

/// Columns of a 16-byte chunk.
const CHUNK: u32 = 8;
/// Half of `i32`, so that a row plus the causal offset, and a block's end, can't overflow.
const MAX_ROWS: u32 = i32::MAX as u32 / 2;
/// Largest grid along x.
const MAX_CTAS: u64 = i32::MAX as u64;
/// Shared memory that the system keeps of each CTA on a multiprocessor.
const RESERVED_BYTES: u32 = 1024;
/// Keys and values that may stay in L2 while a section is worked on: a third of an A100's 40 MB.
const SECTION_BYTES: u64 = 13 << 20;

/// The kernel for `problem` on `gpu`: the first in the table of which two CTAs fit a
/// multiprocessor, else the first that fits at all.
///
/// # Errors
/// The first rule that the problem or the device breaks.
pub fn choose(problem: &FwdProblem, gpu: Gpu) -> Result<Choice, ChooseError> {
    validate(problem)?;
    let serves = |kernel: &&KernelInfo| {
        kernel.family == Family::General
            && kernel.dtype == problem.dtype
            && kernel.mask == problem.mask
            && kernel.head_dim >= problem.head_dim
    };
    let head_dim = kernels()
        .iter()
        .filter(serves)
        .map(|kernel| kernel.head_dim)
        .min()
        .ok_or(ChooseError::HeadDim(problem.head_dim))?;
    let candidates = || {
        kernels()
            .iter()
            .filter(serves)
            .filter(|k| k.head_dim == head_dim)
    };
    let kernel = candidates()
        .find(|kernel| fits(kernel, gpu, 2))
        .or_else(|| candidates().find(|kernel| fits(kernel, gpu, 1)))
        .or_else(|| candidates().min_by_key(|kernel| kernel.shared_bytes))
        .ok_or(ChooseError::HeadDim(problem.head_dim))?;
    planned(kernel, problem, gpu)
}

/// How `problem` runs on `kernel`, whatever [`choose`] would take.
///
/// # Errors
/// As [`choose`], and where the kernel is for another element type, mask or head size.
pub fn choose_kernel(
    kernel: &'static KernelInfo,
    problem: &FwdProblem,
    gpu: Gpu,
) -> Result<Choice, ChooseError> {
    validate(problem)?;
    let is_kin = kernel.family == Family::General
        && (kernel.dtype, kernel.mask) == (problem.dtype, problem.mask)
        && kernel.head_dim >= problem.head_dim;
    if !is_kin {
        let FwdProblem {
            dtype,
            mask,
            head_dim,
            ..
        } = problem;
        return Err(ChooseError::Mismatch {
            name: kernel.name,
            problem: format!("{dtype:?}, head_dim {head_dim}, mask {mask:?}"),
        });
    }
    planned(kernel, problem, gpu)
}

/// CTAs of a teaching kernel on `[heads_total, seq, 64]` tensors.
///
/// # Errors
/// Where the kernel is not one, `seq` is no positive multiple of its blocks, or the device too small.
pub fn teaching_grid(
    kernel: &'static KernelInfo,
    [heads_total, seq]: [usize; 2],
    gpu: Gpu,
) -> Result<u32, ChooseError> {
    let block = kernel.block_m as usize;
    if kernel.family != Family::Teaching || seq == 0 || !seq.is_multiple_of(block) {
        return Err(ChooseError::Mismatch {
            name: kernel.name,
            problem: format!("a teaching run of {seq} rows"),
        });
    }
    runs(kernel, gpu)?;
    grid((seq / block) as u64, heads_total as u64)
}

fn planned(
    kernel: &'static KernelInfo,
    problem: &FwdProblem,
    gpu: Gpu,
) -> Result<Choice, ChooseError> {
    runs(kernel, gpu)?;
    let m_blocks = problem.seq_q.div_ceil(kernel.block_m);
    let heads_total = u64::from(problem.batch) * u64::from(problem.heads_q);
    let grid_x = grid(u64::from(m_blocks), heads_total)?;
    Ok(Choice {
        kernel,
        grid_x,
        m_blocks,
        section: section(problem).min(heads_total as u32),
    })
}

/// Whether `ctas` of the kernel share a multiprocessor.
fn fits(kernel: &KernelInfo, gpu: Gpu, ctas: u32) -> bool {
    ctas * (kernel.shared_bytes + RESERVED_BYTES) <= gpu.shared_bytes + RESERVED_BYTES
}

/// Whether the kernel is in this build and the device large enough.
fn runs(kernel: &'static KernelInfo, gpu: Gpu) -> Result<(), ChooseError> {
    let &KernelInfo { name, unit, .. } = kernel;
    if !fits(kernel, gpu, 1) {
        return Err(ChooseError::SharedMemory {
            name,
            bytes: kernel.shared_bytes,
            limit: gpu.shared_bytes,
        });
    }
    if !kernel.is_built {
        return Err(ChooseError::NotBuilt { name, unit });
    }
    Ok(())
}

fn grid(m_blocks: u64, heads_total: u64) -> Result<u32, ChooseError> {
    let ctas = m_blocks.saturating_mul(heads_total);
    if ctas > MAX_CTAS {
        return Err(ChooseError::TooLarge {
            name: "batch x heads_q x query blocks",
            value: ctas,
            limit: MAX_CTAS,
        });
    }
    Ok(ctas as u32)
}

fn validate(problem: &FwdProblem) -> Result<(), ChooseError> {
    let &FwdProblem {
        batch,
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        head_dim,
        ..
    } = problem;
    let sizes = [
        ("batch", batch),
        ("heads_q", heads_q),
        ("heads_kv", heads_kv),
        ("seq_q", seq_q),
    ];
    if let Some(&(name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
        return Err(ChooseError::Empty { name });
    }
    if !heads_q.is_multiple_of(heads_kv) {
        return Err(ChooseError::Heads { heads_q, heads_kv });
    }
    if head_dim == 0 || !head_dim.is_multiple_of(CHUNK) {
        return Err(ChooseError::HeadDim(head_dim));
    }
    for (name, rows) in [("seq_q", seq_q), ("seq_k", seq_k)] {
        if rows > MAX_ROWS {
            return Err(ChooseError::TooLarge {
                name,
                value: u64::from(rows),
                limit: u64::from(MAX_ROWS),
            });
        }
    }
    Ok(())
}

/// Heads whose query blocks are scheduled together.
///
/// Without a causal mask all CTAs weigh the same, so one head at a time is best for L2. With one, a
/// section starts with its heaviest blocks.
fn section(problem: &FwdProblem) -> u32 {
    match problem.mask {
        MaskKind::None => 1,
        MaskKind::Causal => {
            let head = 4 * u64::from(problem.seq_k) * u64::from(problem.head_dim);
            let kv_heads = (SECTION_BYTES / head.max(1)).clamp(1, u64::from(problem.heads_kv));
            kv_heads as u32 * (problem.heads_q / problem.heads_kv)
        }
    }
}

#[cfg(test)]
mod tests;
