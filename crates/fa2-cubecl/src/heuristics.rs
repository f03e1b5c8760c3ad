//! Which tile serves a problem: a pure table, with its reasons.

pub(crate) mod backward;
pub(crate) mod sm90;

use crate::config::{FwdConfig, Tile};
use crate::error::ConfigError;
use crate::mask::MaskKind;
use crate::problem::{Dtype, Mask, Problem};
use serde::{Deserialize, Serialize};

/// What the choice needs to know of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Compute capability, 10 times major plus minor: 80, 86, 89, 90, ...
    pub sm: u32,
    /// Shared memory that one cube can have, in bytes.
    pub shared_bytes: u32,
}

impl Gpu {
    /// A GPU of compute capability `sm`, with the shared memory that NVIDIA's tuning guides state;
    /// newer ones than they know count as the newest.
    #[must_use]
    pub fn of_capability(sm: u32) -> Self {
        let kib = match sm {
            80 | 87 => 163,
            86 | 89 | 120 | 121 => 99,
            _ => 227,
        };
        Self {
            sm,
            shared_bytes: kib << 10,
        }
    }
}

/// How a forward pass runs: the kernel, and the order of its cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FwdPlan {
    /// The kernel.
    pub config: FwdConfig,
    /// Heads of a section of the schedule (see the scheduler), at least 1.
    pub section: u32,
}

/// The plan for `problem` on `gpu`.
///
/// # Errors
/// None that a valid problem can cause; a rule broken by the table itself would surface here.
pub fn choose(problem: &Problem, gpu: Gpu) -> Result<FwdPlan, ConfigError> {
    let mask = MaskKind::from(problem.mask);
    let columns = problem.head_dim as u32;
    let section = section(problem);
    let configs = tiles(columns, mask, gpu.sm)
        .iter()
        .map(|tile| FwdConfig::new(problem.dtype, columns, mask, *tile))
        .collect::<Result<Vec<_>, _>>()?;
    let twice = |config: &&FwdConfig| fits(config.shared_bytes(), gpu, 2);
    let once = |config: &&FwdConfig| fits(config.shared_bytes(), gpu, 1);
    let config = configs
        .iter()
        .find(twice)
        .or_else(|| configs.iter().find(once))
        .copied()
        .ok_or(ConfigError::HeadDim(columns))?;
    Ok(FwdPlan { config, section })
}

/// Shared memory that the system keeps of each cube on a multiprocessor.
const RESERVED_BYTES: u32 = 1024;

/// Whether `cubes` of `shared_bytes` each fit one multiprocessor at once.
fn fits(shared_bytes: u32, gpu: Gpu, cubes: u32) -> bool {
    cubes * (shared_bytes + RESERVED_BYTES) <= gpu.shared_bytes + RESERVED_BYTES
}

/// Keys and values that may stay in L2 while a section is worked on: a third of an A100's 40 MB.
const SECTION_BYTES: usize = 13 << 20;

/// Heads whose query blocks are scheduled together.
///
/// Without a causal mask all cubes weigh the same, so one head at a time is best for L2. With one,
/// a section starts with its heaviest blocks.
fn section(problem: &Problem) -> u32 {
    match problem.mask {
        Mask::None => 1,
        Mask::Causal(_) => {
            let head = 2 * problem.seq_k * problem.head_dim * Dtype::BYTES as usize;
            let kv_heads = (SECTION_BYTES / head.max(1)).clamp(1, problem.heads_kv);
            (kv_heads * problem.group_size()) as u32
        }
    }
}

/// Tiles for a head size, best first. A GPU takes the first of which two cubes fit a
/// multiprocessor, else the first that fits at all.
///
/// Two cubes of four warps on a multiprocessor beat one of eight: their barriers don't meet, and
/// the softmax of one runs under the products of the other (docs/perf/forward.md). Each
/// warp owns 32 rows where the registers allow it, since every warp reads all of K and V from
/// shared memory, and 16 rows a warp would double that traffic. D of 192 and 256 leave room for
/// 16 rows only.
fn tiles(columns: u32, mask: MaskKind, sm: u32) -> &'static [Tile] {
    const fn tile(block_m: u32, block_n: u32, warps: u32, stages: u32) -> Tile {
        Tile {
            block_m,
            block_n,
            warps,
            stages,
        }
    }
    match columns {
        0..=32 => const { &[tile(128, 128, 4, 2)] },
        // For SM80 ptxas spills 184 bytes of the 128 x 128 kernel with a causal mask, none of this.
        33..=64 if mask == MaskKind::Causal && sm < 90 => {
            const { &[tile(128, 96, 4, 2), tile(128, 64, 4, 2)] }
        }
        33..=64 => const { &[tile(128, 128, 4, 2), tile(128, 64, 4, 2)] },
        65..=128 => const { &[tile(128, 64, 4, 2), tile(128, 64, 4, 1)] },
        _ => const { &[tile(64, 64, 4, 1), tile(64, 32, 4, 2)] },
    }
}

#[cfg(test)]
mod tests;
