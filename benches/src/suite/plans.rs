//! The forced plans of the suite: every stage count, tile height and copy map that a problem allows.

use fa2_cubecl::{FwdConfig, FwdPlan, Gpu, MaskKind, Problem, RowCopy, Tile};

/// Tiles that are tried where they are valid and fit: (block_m, block_n, warps).
const TILES: [(u32, u32, u32); 6] =
    [(64, 64, 4), (128, 64, 4), (128, 128, 4), (128, 64, 8), (64, 32, 4), (32, 32, 2)];

/// Every plan of the suite for `problem` on `gpu`.
#[must_use]
pub fn forced(problem: &Problem, gpu: Gpu) -> Vec<FwdPlan> {
    let mask = MaskKind::from(problem.mask);
    let mut plans = Vec::new();
    for (block_m, block_n, warps) in TILES {
        for stages in 1..=3 {
            let tile = Tile { block_m, block_n, warps, stages };
            let config = FwdConfig::new(problem.dtype, problem.head_dim as u32, mask, tile);
            // Tiles that a head size can't have are no plans of it.
            let Ok(config) = config else { continue };
            // 32 rows a warp with a large head size needs more registers than there are.
            let accumulators = config.m_tiles() as u32 * (config.head_dim() + block_n) / 2;
            if config.shared_bytes() <= gpu.shared_bytes && accumulators <= 200 {
                let section = stages;
                plans.push(FwdPlan { config, section });
                if let Ok(config) = config.with_row_copy(RowCopy::HalfRow)
                    && (block_m, stages) == (64, 2)
                    && config != plans[plans.len() - 1].config
                {
                    plans.push(FwdPlan { config, section });
                }
            }
        }
    }
    plans
}
