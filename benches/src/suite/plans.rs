//! What the suite forces. Of the CubeCL kernel every stage count, and for the article's head size
//! every tile, copy map and softmax too; of the kernels for SM90 tiles of every number of warpgroups and
//! stages; of the CuTe kernels all that serve.

use fa2_cubecl::{
    BwdConfig, BwdPlan, BwdTile, Dtype, FwdConfig, FwdPlan, FwdSm90Config, FwdSm90Plan,
    FwdSm90Tile, Gpu, Instructions, Loads, Mask, MaskKind, Problem, Rescale, RowCopy, Tile, Turns,
    compiled_head_dim,
};
use fa2_cute::{Family, KernelInfo};
use std::num::NonZeroU32;

/// Tiles that are tried where they are valid and fit: (block_m, block_n, warps).
const TILES: [(u32, u32, u32); 6] = [
    (64, 64, 4),
    (128, 64, 4),
    (128, 128, 4),
    (128, 64, 8),
    (64, 32, 4),
    (32, 32, 2),
];

/// The head size of the article.
const ARTICLE_DIM: u32 = 64;

/// Every plan of the suite for `problem` on `gpu`.
#[must_use]
pub fn forced(problem: &Problem, gpu: Gpu) -> Vec<FwdPlan> {
    let mask = MaskKind::from(problem.mask);
    let mut plans = Vec::new();
    // Other head sizes differ in loop counts only: one tile of them is enough.
    let tiles = if problem.head_dim as u32 == ARTICLE_DIM {
        &TILES[..]
    } else {
        &TILES[..1]
    };
    for &(block_m, block_n, warps) in tiles {
        for stages in 1..=3 {
            let tile = Tile {
                block_m,
                block_n,
                warps,
                stages,
            };
            let config = FwdConfig::new(problem.dtype, problem.head_dim as u32, mask, tile);
            // Tiles that a head size can't have are no plans of it.
            let Ok(config) = config else { continue };
            // 32 rows a warp with a large head size needs more registers than there are.
            let accumulators = config.m_tiles() as u32 * (config.head_dim() + block_n) / 2;
            if config.shared_bytes() <= gpu.shared_bytes && accumulators <= 200 {
                let section = stages;
                plans.push(FwdPlan { config, section });
                if config.head_dim() == ARTICLE_DIM
                    && (block_m, block_n, stages) == (64, 64, 2)
                    && let Ok(article) = config.with_row_copy(RowCopy::HalfRow)
                {
                    let config = article.with_rescale(Rescale::Eager);
                    plans.push(FwdPlan { config, section });
                }
            }
        }
    }
    plans
}

/// Tiles of the SM90 kernels: (block_m, block_n, stages). Those that a head size can't have are left out.
const SM90_TILES: [(u32, u32, u32); 5] = [
    (64, 80, 2),
    (128, 64, 3),
    (128, 80, 1),
    (128, 128, 2),
    (192, 64, 2),
];

/// Every plan of the suite for `problem` by the kernels for SM90.
#[must_use]
pub fn hopper(problem: &Problem, gpu: Gpu) -> Vec<FwdSm90Plan> {
    let mask = MaskKind::from(problem.mask);
    let mut plans = Vec::new();
    for (block_m, block_n, stages) in SM90_TILES {
        let tile = FwdSm90Tile {
            block_m,
            block_n,
            stages,
        };
        let config = FwdSm90Config::new(problem.dtype, problem.head_dim as u32, mask, tile);
        let Ok(config) = config else { continue };
        // Sums, scores and P of a lane must leave registers for the rest.
        let accumulators = (config.head_dim() + block_n) / 2 + block_n / 4;
        let most = if block_m == 192 { 128 } else { 200 };
        if config.shared_bytes() <= gpu.shared_bytes && accumulators <= most {
            let section = stages;
            let plan = FwdSm90Plan {
                config,
                section,
                cubes: None,
            };
            plans.push(plan);
            if stages == 2 {
                plans.push(FwdSm90Plan {
                    config: config.with_rescale(Rescale::Eager).with_turns(Turns::Free),
                    ..plan
                });
                // Few cubes fetch many works each.
                plans.extend([1, 3].map(|cubes| FwdSm90Plan {
                    cubes: NonZeroU32::new(cubes),
                    ..plan
                }));
            }
        }
    }
    plans
}

/// Tiles of the backward kernels for SM90. Those that a head size can't have are left out.
const SM90_BACKWARD_TILES: [BwdTile; 5] = [
    BwdTile::warpgroups(64, 64, 2),
    BwdTile::warpgroups(64, 128, 2),
    BwdTile::warpgroups(128, 128, 2),
    BwdTile::shared_keys(2),
    BwdTile::shared_keys(3),
];

/// Plans of the suite for the backward of `problem` by the kernels for SM90: other tiles than the chosen, and
/// both kinds of loads where there are two.
#[must_use]
pub fn hopper_backward(problem: &Problem, gpu: Gpu) -> Vec<BwdPlan> {
    let (columns, mask) = (problem.head_dim as u32, MaskKind::from(problem.mask));
    let mut plans = Vec::new();
    for tile in SM90_BACKWARD_TILES {
        let instructions = Instructions::Sm90a;
        let config = BwdConfig::made_of(instructions, problem.dtype, columns, mask, tile);
        let Ok(config) = config else { continue };
        // Sums, S and dP of a lane must leave registers for the rest.
        let accumulators = match config.shares_keys() {
            true => config.head_dim() / 2 + tile.block_m,
            false => config.head_dim() + tile.block_m,
        };
        if config.shared_bytes() > gpu.shared_bytes || accumulators > 192 {
            continue;
        }
        let loads = match config.shares_keys() {
            true => &[Loads::Warpgroup][..],
            false => &[Loads::Thread, Loads::Warpgroup],
        };
        plans.extend(loads.iter().map(|&loads| BwdPlan {
            config: config.with_loads(loads),
            section: tile.stages,
            queries: None,
        }));
    }
    plans
}

/// The general CuTe kernels of `problem`'s type, mask and head size, in this build.
#[must_use]
pub fn cute(problem: &Problem) -> Vec<&'static KernelInfo> {
    let mask = match problem.mask {
        Mask::None => fa2_cute::MaskKind::None,
        Mask::Causal(_) => fa2_cute::MaskKind::Causal,
    };
    let dtype = match problem.dtype {
        Dtype::F16 => fa2_cute::Dtype::F16,
        Dtype::Bf16 => fa2_cute::Dtype::Bf16,
    };
    let head_dim = compiled_head_dim(problem.head_dim as u32);
    let serves = |kernel: &&KernelInfo| {
        kernel.is_built
            && kernel.family == Family::General
            && (kernel.dtype, kernel.mask) == (dtype, mask)
            && Some(kernel.head_dim) == head_dim
    };
    fa2_cute::kernels().iter().filter(serves).collect()
}
