//! The forced plans of the suite: every stage count, and for the article's head size every tile,
//! copy map and softmax too.

use fa2_cubecl::{FwdConfig, FwdPlan, Gpu, MaskKind, Problem, Rescale, RowCopy, Tile};

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
