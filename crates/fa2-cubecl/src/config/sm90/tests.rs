//! The rules of a configuration for SM90, and its sizes.

use super::registers::launched;
use super::{FwdSm90Config, FwdSm90Tile, RegisterSplit};
use crate::config::MAX_SHARED_BYTES;
use crate::error::ConfigError;
use crate::mask::MaskKind;
use crate::problem::Dtype;

fn try_tile(
    columns: u32,
    [block_m, block_n, stages]: [u32; 3],
) -> Result<FwdSm90Config, ConfigError> {
    let tile = FwdSm90Tile {
        block_m,
        block_n,
        stages,
    };
    FwdSm90Config::new(Dtype::F16, columns, MaskKind::None, tile)
}

#[test]
fn each_rule_has_its_error() {
    assert_eq!(try_tile(264, [128, 128, 2]), Err(ConfigError::HeadDim(264)));
    for block_m in [0, 96, 256] {
        let refused = Err(ConfigError::Warpgroups(block_m));
        assert_eq!(try_tile(64, [block_m, 128, 2]), refused);
    }
    for block_n in [0, 24] {
        assert_eq!(
            try_tile(64, [128, block_n, 2]),
            Err(ConfigError::BlockN(block_n))
        );
    }
    let rows = Err(ConfigError::BoxRows {
        rows: 272,
        limit: 256,
    });
    assert_eq!(try_tile(64, [128, 272, 1]), rows);
    assert_eq!(try_tile(64, [128, 128, 4]), Err(ConfigError::Stages(4)));
    assert!(matches!(
        try_tile(256, [128, 128, 2]),
        Err(ConfigError::SharedMemory {
            limit: MAX_SHARED_BYTES,
            ..
        })
    ));
}

/// What a warpgroup claims comes from what the others of its cube leave. A multiprocessor has 512 registers for a
/// thread of each, so 32 for the one that loads seem to leave 240 for two that compute; but three start with 168
/// each, which makes 504, and one claim of 240 would never end.
#[test]
fn claims_are_no_more_than_what_a_cube_starts_with() {
    assert_eq!([3, 4].map(launched), [168, 128]);
    for warpgroups in [2, 3] {
        for loading in (24..=64).step_by(8) {
            let split = RegisterSplit::with_loading(warpgroups, loading);
            let all = warpgroups * split.computing + split.loading;
            assert!(
                all <= (warpgroups + 1) * launched(warpgroups + 1),
                "{split:?}"
            );
        }
    }
    assert_eq!(RegisterSplit::with_loading(2, 32).computing, 232);
    for block_m in [128, 192] {
        let config = try_tile(64, [block_m, 64, 2]).unwrap();
        let split = config.registers();
        let all = split.warpgroups * split.computing + split.loading;
        assert!(
            all <= config.threads() / 128 * launched(config.threads() / 128),
            "{config}"
        );
    }
}

#[test]
fn computing_warpgroups_share_what_the_loading_one_leaves() {
    // The splits that the kernels were measured with, as (warpgroups, loading, computing).
    for (warpgroups, loading, computing) in
        [(1, 255, 255), (2, 24, 240), (2, 40, 232), (3, 32, 160)]
    {
        let split = RegisterSplit::with_loading(warpgroups, loading);
        assert_eq!(split.computing, computing);
    }
}

#[test]
fn barriers_fit_behind_the_tiles() {
    for stages in 1..=3 {
        let config = try_tile(64, [128, 64, stages]).unwrap();
        assert!(
            config.tile_bytes() + config.barriers_end() <= config.shared_bytes(),
            "{config}"
        );
        assert!(
            config.tile_bytes().is_multiple_of(8),
            "a barrier is 8-byte aligned"
        );
    }
}
