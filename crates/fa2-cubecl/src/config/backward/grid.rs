//! The backward configurations that host tests of index maps range over.

use super::{BwdConfig, BwdTile, Instructions};
use crate::config::HEAD_DIMS;
use crate::mask::MaskKind;
use crate::problem::Dtype;

/// Every valid configuration over head sizes, 2 to 16 warps in every arrangement and blocks of 32 to 128
/// rows, with both ways into shared memory; and those of warpgroups.
pub(crate) fn grid() -> Vec<BwdConfig> {
    let mut configs = Vec::new();
    for head_dim in HEAD_DIMS {
        for [warps, warps_n, warps_dq] in [
            [2, 1, 1],
            [4, 1, 2],
            [2, 2, 2],
            [2, 2, 1],
            [4, 2, 2],
            [4, 2, 4],
            [8, 1, 2],
            [8, 1, 4],
            [4, 4, 4],
            [8, 2, 8],
            [16, 1, 4],
        ] {
            for block_m in [32, 64, 128] {
                for block_n in [32, 64, 96, 128, 256] {
                    let tile = BwdTile {
                        block_m,
                        block_n,
                        warps,
                        warps_n,
                        warps_dq,
                        stages: 1,
                    };
                    for instructions in [Instructions::Sm80, Instructions::Sm90] {
                        let (dtype, mask) = (Dtype::F16, MaskKind::None);
                        let config = BwdConfig::made_of(instructions, dtype, head_dim, mask, tile);
                        configs.extend(config);
                    }
                }
            }
        }
    }
    configs.extend(warpgroups());
    configs.extend(shared_keys());
    assert!(
        configs.len() > 200,
        "the grid holds {} configurations only",
        configs.len()
    );
    configs
}

/// Every valid configuration by warpgroups.
pub(crate) fn warpgroups() -> Vec<BwdConfig> {
    let mut configs = Vec::new();
    for head_dim in HEAD_DIMS {
        for block_m in [64, 128, 192] {
            for block_n in [64, 128, 192] {
                let tile = BwdTile::warpgroups(block_m, block_n, 2);
                let (dtype, mask) = (Dtype::F16, MaskKind::None);
                let instructions = Instructions::Sm90a;
                configs.extend(BwdConfig::made_of(
                    instructions,
                    dtype,
                    head_dim,
                    mask,
                    tile,
                ));
            }
        }
    }
    assert!(
        configs.len() > 10,
        "the grid holds {} configurations only",
        configs.len()
    );
    configs
}

/// Every valid configuration by warpgroups that share keys.
pub(crate) fn shared_keys() -> Vec<BwdConfig> {
    let mut configs = Vec::new();
    for head_dim in HEAD_DIMS {
        for stages in [2, 3] {
            let tile = BwdTile::shared_keys(stages);
            let (dtype, mask) = (Dtype::F16, MaskKind::None);
            let instructions = Instructions::Sm90a;
            configs.extend(BwdConfig::made_of(
                instructions,
                dtype,
                head_dim,
                mask,
                tile,
            ));
        }
    }
    let sizes: Vec<u32> = configs.iter().map(BwdConfig::head_dim).collect();
    assert_eq!(sizes, [64, 64, 128, 128, 128, 128, 192, 192, 256]);
    configs
}
