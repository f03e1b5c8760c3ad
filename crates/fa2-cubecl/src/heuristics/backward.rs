//! Which tiles serve a backward pass: a pure table, with its reasons.

pub(crate) mod sm90;

use crate::config::backward::{BwdConfig, BwdTile, Instructions, QuerySums};
use crate::config::{FwdConfig, Tile};
use crate::error::ConfigError;
use crate::heuristics::{FwdPlan, Gpu, SECTION_BYTES, fits};
use crate::kernel::backward::queries::shared_bytes as query_shared_bytes;
use crate::mask::MaskKind;
use crate::problem::{Mask, Problem};
use serde::{Deserialize, Serialize};

/// Compute capability from which on kernels are made of [`Instructions::Sm90`].
pub(crate) const SM90: u32 = 90;

/// Shared memory of a cube on an A100: with it two cubes for D = 64, or one for D = 256, have large tiles.
const LARGE_BYTES: u32 = 163 << 10;

/// How a backward pass runs: the kernels, and the order of their cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BwdPlan {
    /// The preprocess, the main kernel and the conversion.
    pub config: BwdConfig,
    /// Key/value heads of a section of the main kernel's schedule, at least 1.
    pub section: u32,
    /// The pass for dQ alone, where `config` leaves it to one ([`QuerySums::Owned`]): the tile and
    /// schedule of a forward kernel of at least two stages.
    pub queries: Option<FwdPlan>,
}

/// The plan for `problem` on `gpu`.
///
/// # Errors
/// A problem that no kernel serves (see [`Problem::validate`]), a GPU with too little shared memory, or
/// [`QuerySums::Ordered`], which only the kernels of [`choose_backward_sm90`](sm90::choose_backward_sm90) have.
pub fn choose_backward(
    problem: &Problem,
    gpu: Gpu,
    query_sums: QuerySums,
) -> Result<BwdPlan, ConfigError> {
    if query_sums == QuerySums::Ordered {
        return Err(ConfigError::OrderedSums);
    }
    let columns = problem.head_dim as u32;
    let mask = MaskKind::from(problem.mask);
    let instructions = if gpu.sm >= SM90 {
        Instructions::Sm90
    } else {
        Instructions::Sm80
    };
    let mut configs = Vec::new();
    for tile in tiles(columns, gpu) {
        let config = BwdConfig::made_of(instructions, problem.dtype, columns, mask, *tile)?;
        configs.push(config.with_query_sums(query_sums));
    }
    let config = configs
        .into_iter()
        .find(|config| fits(config.shared_bytes(), gpu, 1))
        .ok_or(ConfigError::HeadDim(columns))?;
    let queries = choose_queries(problem, gpu, query_sums)?;
    Ok(BwdPlan {
        config,
        section: section(problem),
        queries,
    })
}

/// The pass for dQ alone, where it has one.
fn choose_queries(
    problem: &Problem,
    gpu: Gpu,
    query_sums: QuerySums,
) -> Result<Option<FwdPlan>, ConfigError> {
    if query_sums.in_memory() {
        return Ok(None);
    }
    let columns = problem.head_dim as u32;
    let mask = MaskKind::from(problem.mask);
    let mut configs = Vec::new();
    for tile in query_tiles(columns, gpu) {
        configs.push(FwdConfig::new(problem.dtype, columns, mask, *tile)?);
    }
    let fit = |cubes| {
        let fits = |config: &&FwdConfig| fits(query_shared_bytes(config), gpu, cubes);
        configs.iter().find(fits)
    };
    let config = fit(2).or_else(|| fit(1)).copied();
    Ok(Some(FwdPlan {
        config: config.ok_or(ConfigError::HeadDim(columns))?,
        section: super::section(problem),
    }))
}

/// Key/value heads whose key blocks are scheduled together.
///
/// Without a causal mask all cubes weigh the same, so one head at a time is best for L2. With one, a
/// section starts with its heaviest blocks.
fn section(problem: &Problem) -> u32 {
    match problem.mask {
        Mask::None => 1,
        Mask::Causal(_) => {
            // Q and dO in 16 bits, the sums of dQ in 32.
            let head = 8 * problem.group_size() * problem.seq_q * problem.head_dim;
            (SECTION_BYTES / head.max(1)).clamp(1, problem.heads_kv) as u32
        }
    }
}

/// Tiles for a head size, best first: a GPU takes the first that fits. Shared memory of a cube is 227 KB
/// on SM90, 163 KB on SM80 and 99 KB on SM86 and SM89.
///
/// Up to D = 64 a warp has the registers for 32 keys with all of their columns, and P and dS never leave
/// them: 128 LDSM for 320 HMMA. At D = 64 two such cubes of 81 KB fit a multiprocessor. Where only one
/// does, eight warps that share P and dS through shared memory keep it busier than four.
///
/// From D = 96 on, 32 keys with all columns would need every register for dK and dV alone. Two warps
/// share the keys then, half the queries of S and half the columns each: 144 LDSM for 320 HMMA at
/// D = 128, where 16 keys a warp in registers would take 176. At D = 192 and 256 there is room for 16
/// keys a warp.
///
/// A block of 128 keys halves the additions to dQ against one of 64, and so does not lose to a larger
/// block of queries where shared memory is short.
fn tiles(columns: u32, gpu: Gpu) -> &'static [BwdTile] {
    const fn tile(blocks: [u32; 2], warps: [u32; 3], stages: u32) -> BwdTile {
        let [block_m, block_n] = blocks;
        let [warps, warps_n, warps_dq] = warps;
        BwdTile {
            block_m,
            block_n,
            warps,
            warps_n,
            warps_dq,
            stages,
        }
    }
    match columns {
        0..=32 => const { &[tile([64, 128], [4, 1, 2], 2)] },
        33..=64 if gpu.shared_bytes >= LARGE_BYTES => const { &[tile([64, 128], [4, 1, 2], 2)] },
        33..=64 => const { &[tile([64, 128], [4, 2, 2], 2)] },
        65..=96 => const { &[tile([64, 128], [4, 2, 4], 2), tile([64, 64], [4, 2, 4], 2)] },
        97..=128 => const { &[tile([64, 128], [4, 2, 2], 2), tile([32, 128], [4, 2, 2], 1)] },
        129..=192 => const { &[tile([64, 64], [4, 2, 2], 2), tile([32, 64], [4, 2, 2], 1)] },
        _ => {
            const {
                &[
                    tile([64, 64], [4, 2, 2], 2),
                    tile([64, 64], [4, 2, 2], 1),
                    tile([32, 32], [2, 2, 2], 1),
                ]
            }
        }
    }
}

/// Tiles of the pass for dQ alone, best first. A GPU takes the first of which two cubes fit a
/// multiprocessor, else the first that fits at all.
///
/// As in the forward pass a warp owns 32 rows where dQ, S and dP leave the registers for it; with 32 keys
/// a step at D = 128 it has 80 LDSM for 192 HMMA, where 16 rows and 64 keys have 112.
fn query_tiles(columns: u32, gpu: Gpu) -> &'static [Tile] {
    const fn tile(block_m: u32, block_n: u32, warps: u32) -> Tile {
        Tile {
            block_m,
            block_n,
            warps,
            stages: 2,
        }
    }
    match columns {
        0..=64 => const { &[tile(128, 64, 4), tile(64, 64, 4)] },
        65..=96 => const { &[tile(128, 32, 4)] },
        97..=128 => const { &[tile(128, 32, 4), tile(128, 32, 8)] },
        129..=192 => const { &[tile(64, 32, 4)] },
        _ if gpu.shared_bytes >= LARGE_BYTES => const { &[tile(64, 32, 4)] },
        _ => const { &[tile(32, 32, 2)] },
    }
}

#[cfg(test)]
mod tests;
