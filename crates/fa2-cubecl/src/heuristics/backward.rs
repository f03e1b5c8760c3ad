//! Which tiles serve a backward pass: a pure table, with its reasons.

use crate::config::backward::{BwdConfig, BwdTile, FragmentStore, QuerySums};
use crate::error::ConfigError;
use crate::heuristics::{Gpu, SECTION_BYTES, fits};
use crate::mask::MaskKind;
use crate::problem::{Mask, Problem};
use serde::{Deserialize, Serialize};

/// First compute capability with `stmatrix`.
const STMATRIX_SM: u32 = 90;

/// Shared memory from which on two cubes of the tiles for D = 64 fit a multiprocessor.
const TWO_CUBES_BYTES: u32 = 163 << 10;

/// How a backward pass runs: the kernels, and the order of their cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BwdPlan {
    /// The preprocess, the main kernel and the conversion.
    pub config: BwdConfig,
    /// Key/value heads of a section of the main kernel's schedule, at least 1.
    pub section: u32,
}

/// The plan for `problem` on `gpu`.
///
/// # Errors
/// A problem that no kernel serves (see [`Problem::validate`]), or a GPU with too little shared memory.
pub fn choose_backward(
    problem: &Problem,
    gpu: Gpu,
    query_sums: QuerySums,
) -> Result<BwdPlan, ConfigError> {
    let columns = problem.head_dim as u32;
    let mask = MaskKind::from(problem.mask);
    let store = if gpu.sm >= STMATRIX_SM {
        FragmentStore::Matrices
    } else {
        FragmentStore::Pairs
    };
    let mut configs = Vec::new();
    for tile in tiles(columns, gpu) {
        let config = BwdConfig::new(problem.dtype, columns, mask, *tile)?;
        configs.push(config.with_store(store).with_query_sums(query_sums));
    }
    let config = configs
        .into_iter()
        .find(|config| fits(config.shared_bytes(), gpu, 1))
        .ok_or(ConfigError::HeadDim(columns))?;
    Ok(BwdPlan {
        config,
        section: section(problem),
    })
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
        33..=64 if gpu.shared_bytes >= TWO_CUBES_BYTES => {
            const { &[tile([64, 128], [4, 1, 2], 2)] }
        }
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

#[cfg(test)]
mod tests;
