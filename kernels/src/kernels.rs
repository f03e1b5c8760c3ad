//! The table of kernels, and which of them serves a problem.

use thiserror::Error;

include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Element type of Q, K, V and O. Sums are in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskKind {
    /// All of them.
    None,
    /// Those up to its own position plus a run-time diagonal.
    Causal,
}

/// What a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `FwdParams`: any problem of its head size, type and mask.
    General,
    /// `TeachingParams`: one size of everything, for study.
    Teaching,
}

/// One kernel of the fatbin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name in the module.
    pub name: &'static str,
    /// The source file that it is an instance in.
    pub unit: &'static str,
    /// What it takes.
    pub family: Family,
    /// Element type.
    pub dtype: Dtype,
    /// Mask.
    pub mask: MaskKind,
    /// Columns that it computes; tensors may have fewer.
    pub head_dim: u32,
    /// Query rows of a CTA.
    pub block_m: u32,
    /// Key rows of a step.
    pub block_n: u32,
    /// K/V blocks in shared memory at once.
    pub stages: u32,
    /// Threads of a CTA, along x.
    pub threads: u32,
    /// Dynamic shared memory. Above 48 KiB the function's
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` must be raised before the launch.
    pub shared_bytes: u32,
    /// Whether its unit was compiled into this build.
    pub is_built: bool,
}

/// All kernels, by unit.
#[must_use]
pub fn kernels() -> &'static [KernelInfo] {
    &TABLE
}

/// The kernel of this name.
#[must_use]
pub fn kernel(name: &str) -> Option<&'static KernelInfo> {
    TABLE.iter().find(|kernel| kernel.name == name)
}

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

/// Why no kernel serves a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// A size that must not be 0.
    #[error("{name} is 0")]
    Empty {
        /// The size.
        name: &'static str,
    },
    /// Query heads can't be shared out.
    #[error("heads_q = {heads_q} is not a multiple of heads_kv = {heads_kv}")]
    Heads {
        /// Heads of Q.
        heads_q: u32,
        /// Heads of K and V.
        heads_kv: u32,
    },
    /// No kernel has such rows.
    #[error("head_dim {0} is not a multiple of 8 from 8 to 256")]
    HeadDim(u32),
    /// More than the kernel counts to.
    #[error("{name} = {value} is over the limit of {limit}")]
    TooLarge {
        /// What is too large.
        name: &'static str,
        /// Its value.
        value: u64,
        /// What it may be at most.
        limit: u64,
    },
    /// The unit was left out by `FA2_CUTE_UNITS`.
    #[error("{name} was not compiled: FA2_CUTE_UNITS left its unit {unit} out")]
    NotBuilt {
        /// The kernel.
        name: &'static str,
        /// Its unit.
        unit: &'static str,
    },
    /// The device has too little shared memory.
    #[error("{name} needs {bytes} bytes of shared memory, and the device has {limit}")]
    SharedMemory {
        /// The kernel.
        name: &'static str,
        /// What it needs.
        bytes: u32,
        /// What there is.
        limit: u32,
    },
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
    let head_dim = TABLE
        .iter()
        .filter(serves)
        .map(|kernel| kernel.head_dim)
        .min()
        .ok_or(ChooseError::HeadDim(problem.head_dim))?;
    let candidates = || {
        TABLE
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
mod tests {
    use super::*;

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
    fn names_are_unique() {
        for (at, one) in TABLE.iter().enumerate() {
            assert!(TABLE[at + 1..].iter().all(|other| other.name != one.name));
        }
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

    #[test]
    fn no_kernel_spills() {
        for line in crate::REPORT.lines() {
            let numbers: Vec<&str> = line.split(' ').skip(4).collect();
            assert_eq!(numbers, ["0", "0"], "{line}");
        }
    }
}
