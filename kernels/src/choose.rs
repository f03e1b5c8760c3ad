//! Which kernel serves a problem on a device, and how its work is laid out.

use crate::error::ChooseError;
use crate::kernels::{Family, KernelInfo, kernels};
use crate::problem::{FwdProblem, MaskKind};

/// Largest grid along x.
const MAX_CTAS: u64 = i32::MAX as u64;
/// Shared memory that the system keeps of each CTA on a multiprocessor.
const RESERVED_BYTES: u32 = 1024;
/// Keys and values that may stay in L2 while a section is worked on: a third of an A100's 40 MB.
const SECTION_BYTES: u64 = 13 << 20;

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

/// The kernel for `problem` on `gpu`: the first in the table of which two CTAs fit a
/// multiprocessor, else the first that fits at all.
///
/// # Errors
/// The first rule that the problem or the device breaks.
pub fn choose(problem: &FwdProblem, gpu: Gpu) -> Result<Choice, ChooseError> {
    problem.validate()?;
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
    let fits = |kernel: &KernelInfo, ctas: u32| {
        ctas * (kernel.shared_bytes + RESERVED_BYTES) <= gpu.shared_bytes + RESERVED_BYTES
    };
    let kernel = candidates()
        .find(|kernel| fits(kernel, 2))
        .or_else(|| candidates().find(|kernel| fits(kernel, 1)))
        .or_else(|| candidates().min_by_key(|kernel| kernel.shared_bytes))
        .ok_or(ChooseError::HeadDim(problem.head_dim))?;
    let &KernelInfo { name, unit, .. } = kernel;
    if !fits(kernel, 1) {
        return Err(ChooseError::SharedMemory {
            name,
            bytes: kernel.shared_bytes,
            limit: gpu.shared_bytes,
        });
    }
    if !kernel.is_built {
        return Err(ChooseError::NotBuilt { name, unit });
    }
    let m_blocks = problem.seq_q.div_ceil(kernel.block_m);
    let heads_total = u64::from(problem.batch) * u64::from(problem.heads_q);
    let ctas = u64::from(m_blocks).saturating_mul(heads_total);
    if ctas > MAX_CTAS {
        return Err(ChooseError::TooLarge {
            name: "batch x heads_q x query blocks",
            value: ctas,
            limit: MAX_CTAS,
        });
    }
    Ok(Choice {
        kernel,
        grid_x: ctas as u32,
        m_blocks,
        section: section(problem).min(heads_total as u32),
    })
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
mod tests {
    use super::*;
    use crate::problem::Dtype;

    const H200: Gpu = Gpu {
        shared_bytes: 232_448,
    };
    const ADA: Gpu = Gpu {
        shared_bytes: 101_376,
    };

    fn problem(head_dim: u32) -> FwdProblem {
        FwdProblem {
            batch: 2,
            heads_q: 8,
            heads_kv: 2,
            seq_q: 1000,
            seq_k: 1000,
            head_dim,
            dtype: Dtype::F16,
            mask: MaskKind::Causal,
        }
    }

    /// The choice's name, whether or not this build has the kernel.
    fn name(head_dim: u32, gpu: Gpu) -> &'static str {
        match choose(&problem(head_dim), gpu) {
            Ok(choice) => choice.kernel.name,
            Err(ChooseError::NotBuilt { name, .. }) => name,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn smallest_compiled_head_dim_that_holds_the_columns_serves() {
        for (columns, expected) in [
            (8, "fa2_fwd_f16_d32_causal"),
            (64, "fa2_fwd_f16_d64_causal"),
            (72, "fa2_fwd_f16_d96_causal"),
            (104, "fa2_fwd_f16_d128_causal"),
            (136, "fa2_fwd_f16_d192_causal"),
            (256, "fa2_fwd_f16_d256_causal"),
        ] {
            assert_eq!(name(columns, H200), expected);
        }
    }

    #[test]
    fn little_shared_memory_takes_the_small_tile() {
        assert_eq!(name(128, ADA), "fa2_fwd_f16_d128_causal_small");
        assert_eq!(name(256, ADA), "fa2_fwd_f16_d256_causal");
    }

    #[test]
    fn broken_rules_are_named() {
        let odd = FwdProblem {
            head_dim: 12,
            ..problem(64)
        };
        assert_eq!(choose(&odd, H200), Err(ChooseError::HeadDim(12)));
        assert_eq!(choose(&problem(264), H200), Err(ChooseError::HeadDim(264)));
        let heads = FwdProblem {
            heads_kv: 3,
            ..problem(64)
        };
        let error = ChooseError::Heads {
            heads_q: 8,
            heads_kv: 3,
        };
        assert_eq!(choose(&heads, H200), Err(error));
    }
}
