//! The configurations that host tests of index maps range over.

use crate::config::{FwdConfig, HEAD_DIMS, RowCopy, Tile};
use crate::mask::MaskKind;
use crate::problem::Dtype;
use fa2_layouts::{Map, Name, Owners, Sizes};

/// The article's: D = 64, blocks of 64 rows, 4 warps along M.
pub(crate) fn article(stages: u32) -> FwdConfig {
    of(
        64,
        Tile {
            block_m: 64,
            block_n: 64,
            warps: 4,
            stages,
        },
    )
}

/// f16 without a mask and with whole rows a copy.
pub(crate) fn of(head_dim: u32, tile: Tile) -> FwdConfig {
    FwdConfig::new(Dtype::F16, head_dim, MaskKind::None, tile).unwrap()
}

/// Every valid configuration over head sizes, 64 to 256 threads and blocks of 16 to 128 rows.
pub(crate) fn grid(row_copy: RowCopy) -> Vec<FwdConfig> {
    let mut configs = Vec::new();
    for head_dim in HEAD_DIMS {
        for warps in [2, 4, 8] {
            for block_m in [32, 64, 96, 128] {
                for block_n in [16, 32, 48, 64, 96, 128] {
                    let tile = Tile {
                        block_m,
                        block_n,
                        warps,
                        stages: 1,
                    };
                    let config = FwdConfig::new(Dtype::F16, head_dim, MaskKind::None, tile);
                    configs.extend(config.and_then(|c| c.with_row_copy(row_copy)));
                }
            }
        }
    }
    assert!(
        configs.len() > 200,
        "the grid holds {} configurations only",
        configs.len()
    );
    configs
}

/// The sizes by which the maps of `fa2_layouts` are named.
pub(crate) fn sizes(config: &FwdConfig) -> Sizes {
    let row_copy = match config.row_copy {
        RowCopy::WholeRow => fa2_layouts::RowCopy::WholeRow,
        RowCopy::HalfRow => fa2_layouts::RowCopy::HalfRow,
    };
    let blocks = [config.block_m() as usize, config.block_n() as usize];
    let (head_dim, warps) = (config.head_dim() as usize, config.warps() as usize);
    Sizes::new(head_dim, blocks, warps, row_copy).unwrap()
}

/// The owners that `cargo xtask layout` shows under this name.
pub(crate) fn owners(name: Name, config: &FwdConfig) -> Owners {
    match name.map(&sizes(config)).unwrap() {
        Map::Owners(owners) => owners,
        _ => panic!("{name} is no map of owners"),
    }
}
