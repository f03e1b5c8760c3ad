//! Every rule of a backward configuration, broken once.

use super::grid::grid;
use super::{BwdConfig, BwdTile};
use crate::config::MAX_SHARED_BYTES;
use crate::error::ConfigError;
use crate::mask::MaskKind;
use crate::problem::Dtype;

const TILE: BwdTile = BwdTile {
    block_m: 64,
    block_n: 128,
    warps: 4,
    warps_n: 1,
    warps_dq: 2,
    stages: 2,
};

fn new(columns: u32, tile: BwdTile) -> Result<BwdConfig, ConfigError> {
    BwdConfig::new(Dtype::F16, columns, MaskKind::None, tile)
}

#[test]
fn shared_memory_of_the_best_tile_for_64_columns_lets_two_cubes_onto_an_a100() {
    let config = new(64, TILE).unwrap();
    // K and V, two stages of Q and dO, dS, two stages of row terms.
    let bytes = 2 * 128 * 128 + 2 * 2 * 64 * 128 + 128 * 64 * 2 + 2 * 64 * 8;
    assert_eq!(config.shared_bytes(), bytes);
    assert!(2 * (bytes + 1024) <= 164 * 1024);
}

#[test]
fn each_rule_names_what_breaks_it() {
    let broken = |tile: BwdTile| new(64, tile).unwrap_err();
    assert_eq!(new(257, TILE).unwrap_err(), ConfigError::HeadDim(257));
    assert_eq!(broken(BwdTile { warps: 3, ..TILE }), ConfigError::Warps(3));
    let many = BwdTile {
        warps: 16,
        warps_n: 2,
        ..TILE
    };
    assert_eq!(broken(many), ConfigError::Warps(32));
    assert_eq!(
        broken(BwdTile { stages: 3, ..TILE }),
        ConfigError::Stages(3)
    );
    let multiple = |what, size, multiple| ConfigError::Multiple {
        what,
        size,
        multiple,
    };
    assert_eq!(
        broken(BwdTile {
            block_m: 48,
            ..TILE
        }),
        multiple("block_m", 48, 32)
    );
    assert_eq!(
        broken(BwdTile {
            block_n: 96,
            ..TILE
        }),
        multiple("block_n", 96, 64)
    );
    let wide = BwdTile {
        warps_dq: 1,
        ..TILE
    };
    assert_eq!(new(96, wide).unwrap_err(), multiple("head_dim", 96, 64));
    let side_by_side = BwdTile {
        warps: 2,
        warps_n: 4,
        warps_dq: 8,
        block_m: 128,
        block_n: 64,
        ..TILE
    };
    assert_eq!(
        new(192, side_by_side).unwrap_err(),
        ConfigError::Atom { warps: 8, steps: 4 }
    );
    let large = BwdTile {
        block_m: 128,
        warps_n: 2,
        ..TILE
    };
    assert!(matches!(
        new(256, large).unwrap_err(),
        ConfigError::SharedMemory {
            limit: MAX_SHARED_BYTES,
            ..
        }
    ));
}

#[test]
fn warps_share_out_every_accumulator() {
    for config in grid() {
        let all = config.threads() as usize / 32;
        let elements = |rows: u32, columns: u32| (rows * columns) as usize / 32;
        // Each of two warpgroups that share keys has scores and a gradient of its own.
        let warps = if config.shares_keys() { all / 2 } else { all };
        let keys = config.block_n();
        for (layout, warps, expected) in [
            (
                config.score_layout(),
                warps,
                elements(keys, config.queries_at_once()),
            ),
            (
                config.gradient_layout(),
                warps,
                elements(keys, config.head_dim()),
            ),
            (
                config.query_layout(),
                all,
                elements(config.block_m(), config.head_dim()),
            ),
        ] {
            assert_eq!(layout.len() * warps, expected, "{config}");
            assert!(layout.n_tiles.is_multiple_of(2), "{config}");
        }
    }
}

/// No rule of its own: the others leave nothing else.
#[test]
fn copies_are_whole_passes() {
    for config in grid() {
        let pass = config.row_share().rows_per_pass();
        assert!(config.block_m().is_multiple_of(pass), "{config}");
        assert!(config.block_n().is_multiple_of(pass), "{config}");
    }
}

#[test]
fn tiles_follow_each_other_in_whole_swizzle_periods() {
    for config in grid() {
        for offset in [
            config.kv_bytes(),
            config.stages_offset(),
            config.stages_offset() + config.q_bytes(),
            config.stages_offset() + config.stage_bytes(),
            config.ds_offset(),
            config.p_offset(),
        ] {
            assert!(offset.is_multiple_of(1024), "{config}: {offset}");
        }
    }
}
