//! The rules of a backward configuration by warpgroups, and who owns which element of dQ.

use crate::config::MAX_SHARED_BYTES;
use crate::config::backward::grid::{shared_keys, warpgroups};
use crate::config::backward::{BwdConfig, BwdTile, Instructions, Loads, QuerySums};
use crate::error::ConfigError;
use crate::mask::MaskKind;
use crate::problem::Dtype;
use cute_layout::MmaAtom;
use std::collections::BTreeSet;

fn made(columns: u32, tile: BwdTile) -> Result<BwdConfig, ConfigError> {
    let (dtype, mask) = (Dtype::F16, MaskKind::None);
    BwdConfig::made_of(Instructions::Sm90a, dtype, columns, mask, tile)
}

#[test]
fn each_rule_has_its_error() {
    let tile = BwdTile::warpgroups(64, 128, 2);
    assert_eq!(made(264, tile), Err(ConfigError::HeadDim(264)));
    let registers = ConfigError::GradientRegisters {
        head_dim: 192,
        limit: 128,
    };
    assert_eq!(made(136, tile), Err(registers));
    for (block_m, block_n, wrong) in [(32, 128, 32), (64, 96, 96), (64, 256, 256), (0, 64, 0)] {
        let tile = BwdTile::warpgroups(block_m, block_n, 2);
        assert_eq!(made(64, tile), Err(ConfigError::Warpgroups(wrong)));
    }
    let arrangement = ConfigError::Arrangement {
        warps: 4,
        warps_n: 2,
        warps_dq: 4,
    };
    let shared = BwdTile {
        warps: 4,
        warps_n: 2,
        ..tile
    };
    assert_eq!(made(64, shared), Err(arrangement));
    for (columns, block_m, block_n, (what, size, multiple)) in [
        (64, 128, 64, ("block_n", 64, 128)),
        (64, 64, 192, ("head_dim", 64, 48)),
    ] {
        let multiple = ConfigError::Multiple {
            what,
            size,
            multiple,
        };
        let tile = BwdTile::warpgroups(block_m, block_n, 2);
        assert_eq!(made(columns, tile), Err(multiple));
    }
    for stages in [1, 4] {
        let refused = Err(ConfigError::QueryStages(stages));
        assert_eq!(made(64, BwdTile::warpgroups(64, 128, stages)), refused);
        assert_eq!(made(256, BwdTile::shared_keys(stages)), refused);
    }
    let multiple = ConfigError::Multiple {
        what: "head_dim",
        size: 32,
        multiple: 64,
    };
    assert_eq!(made(32, BwdTile::shared_keys(2)), Err(multiple));
    assert!(matches!(
        made(128, BwdTile::warpgroups(192, 192, 3)),
        Err(ConfigError::SharedMemory {
            limit: MAX_SHARED_BYTES,
            ..
        })
    ));
    assert!(matches!(
        made(256, BwdTile::shared_keys(3)),
        Err(ConfigError::SharedMemory { .. })
    ));
}

#[test]
fn ninety_six_columns_are_computed_as_more() {
    let config = made(96, BwdTile::warpgroups(64, 128, 2)).unwrap();
    assert_eq!(config.head_dim(), 128);
}

#[test]
fn a_warpgroup_that_loads_is_beside_those_that_compute() {
    for config in warpgroups() {
        assert_eq!(config.threads(), 2 * config.block_n(), "{config}");
        let thread = config.with_loads(Loads::Thread);
        assert_eq!(thread.key_threads(), config.threads(), "{config}");
        let warpgroup = config.with_loads(Loads::Warpgroup);
        assert_eq!(warpgroup.key_threads(), config.threads() + 128, "{config}");
    }
    for config in shared_keys() {
        for loads in [Loads::Thread, Loads::Warpgroup] {
            let config = config.with_loads(loads);
            assert_eq!(config.loads(), Loads::Warpgroup, "{config}");
            assert_eq!(config.key_threads(), 3 * 128, "{config}");
        }
    }
}

#[test]
fn warpgroups_that_share_keys_have_tiles_of_p_and_of_ds() {
    for config in shared_keys() {
        let tiles = 2 * config.kv_bytes() + config.stages() * config.stage_bytes();
        assert_eq!(config.ds_offset(), tiles, "{config}");
        assert_eq!(config.p_offset() - tiles, 2 * 64 * 64 * 2, "{config}");
        let terms = config.terms_offset() - config.p_offset();
        assert_eq!(terms, 2 * 64 * 64 * 2, "{config}");
        assert!(config.barriers_offset().is_multiple_of(8), "{config}");
    }
}

#[test]
fn shared_memory_ends_with_aligned_barriers() {
    for config in warpgroups() {
        for sums in [QuerySums::Atomic, QuerySums::Ordered, QuerySums::Owned] {
            let config = config.with_query_sums(sums);
            let tiles = 2 * config.kv_bytes() + config.stages() * config.stage_bytes();
            let ds = match sums {
                QuerySums::Atomic | QuerySums::Ordered => 2 * config.score_bytes(),
                QuerySums::Owned => 0,
            };
            // Where a tile of dS has room for dQ, dQ has none of its own.
            let query_bytes = 4 * config.block_m() * config.head_dim();
            let dq = match sums {
                QuerySums::Atomic if query_bytes > config.score_bytes() => query_bytes,
                _ => 0,
            };
            assert_eq!(config.terms_offset(), tiles + ds + dq, "{config}");
            assert!(config.barriers_offset().is_multiple_of(8), "{config}");
        }
    }
}

/// The conversion finds each element of dQ where a product has left it: C's layout of a warpgroup's 64
/// queries and of its columns.
#[test]
fn every_element_of_dq_has_one_owner_whom_the_conversion_knows() {
    for config in warpgroups() {
        let layout = config.query_layout();
        let columns = config.query_warp_columns() as usize;
        let atom = MmaAtom::wgmma_ss(columns);
        let along_queries = config.block_m() as usize / 64;
        let mut seen = BTreeSet::new();
        for unit in 0..config.threads() as usize {
            let (warp, lane) = (unit / 32, unit % 32);
            let warpgroup = unit / 128;
            for n in 0..layout.n_tiles {
                for half in 0..2 {
                    for c in 0..2 {
                        let register = layout.index(c, half, 0, n);
                        let in_product = atom.c().at((unit % 128, register));
                        let product = [
                            warpgroup % along_queries * 64 + in_product % 64,
                            warpgroup / along_queries * columns + in_product / 64,
                        ];
                        // As in `convert`.
                        let warps = layout.warps as usize;
                        let converted = [
                            warp % warps * 16 + lane / 4 + layout.row_offset(0, half) as usize,
                            warp / warps * columns
                                + lane % 4 * 2
                                + layout.column_offset(c, n) as usize,
                        ];
                        assert_eq!(product, converted, "{config}: unit {unit}");
                        seen.insert(product);
                    }
                }
            }
        }
        let elements = config.block_m() * config.head_dim();
        assert_eq!(seen.len(), elements as usize, "{config}");
    }
}
