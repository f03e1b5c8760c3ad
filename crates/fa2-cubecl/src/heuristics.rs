//! Which tile serves a problem: a pure table, with its reasons.

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
    let mut last = Err(ConfigError::HeadDim(columns));
    for tile in tiles(columns) {
        let config = FwdConfig::new(problem.dtype, columns, mask, *tile)?;
        last = Ok(FwdPlan { config, section });
        if config.shared_bytes() <= gpu.shared_bytes {
            return last;
        }
    }
    last
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

/// Tiles for a head size, best first; a GPU takes the first that fits its shared memory.
///
/// Two cubes of four warps on a multiprocessor beat one of eight: their barriers don't meet. Each
/// warp owns 32 rows where the registers allow it, since every warp reads all of K and V from
/// shared memory, and 16 rows a warp would double that traffic. D of 192 and 256 leave room for
/// 16 rows only.
fn tiles(columns: u32) -> &'static [Tile] {
    const fn tile(block_m: u32, block_n: u32, warps: u32, stages: u32) -> Tile {
        Tile { block_m, block_n, warps, stages }
    }
    match columns {
        0..=32 => const { &[tile(128, 128, 4, 2)] },
        33..=64 => const { &[tile(128, 128, 4, 2), tile(128, 64, 4, 2)] },
        65..=96 => const { &[tile(128, 64, 4, 2), tile(128, 32, 4, 2)] },
        97..=128 => const { &[tile(128, 64, 4, 2), tile(128, 32, 4, 2)] },
        129..=192 => const { &[tile(64, 64, 4, 1), tile(64, 32, 4, 2)] },
        _ => const { &[tile(64, 64, 4, 1), tile(64, 32, 4, 2)] },
    }
}
