//! Tiles, operands and register numbers are the maps that `cargo xtask layout` shows.

use super::grid::{grid, owners, sizes};
use crate::config::{FwdConfig, RowCopy};
use cute_layout::{Layout, SmemTile};
use fa2_layouts::{Map, Name};

#[test]
fn shared_memory_tiles_are_the_named_maps() {
    let tile = |name: Name, config: &FwdConfig, tile: SmemTile| match name.map(&sizes(config)) {
        Ok(Map::Storage(map)) => assert_eq!(map.layout, tile.layout(), "{name} {config}"),
        other => panic!("{name} is no map of storage: {other:?}"),
    };
    for config in grid(RowCopy::WholeRow) {
        tile(Name::SmemQ, &config, config.q_tile());
        tile(Name::SmemKv, &config, config.kv_tile());
    }
}

#[test]
fn operands_and_sums_are_the_named_maps() {
    for config in grid(RowCopy::WholeRow) {
        let (m, n) = (config.block_m() as usize, config.block_n() as usize);
        let (d, mma) = (config.head_dim() as usize, config.tiled_mma());
        let tile = |rows, columns| Layout::compact((rows, columns));
        for (name, layout) in [
            (Name::MmaA, mma.owners_a(&tile(m, d))),
            (Name::MmaB, mma.owners_b(&tile(n, d))),
            (Name::MmaC, mma.owners_c(&tile(m, n))),
        ] {
            assert_eq!(
                owners(name, &config).layout,
                layout.unwrap(),
                "{name} {config}"
            );
        }
    }
}

#[test]
fn registers_of_scores_are_the_named_map() {
    for config in grid(RowCopy::WholeRow) {
        let (m, n) = (config.block_m() as usize, config.block_n() as usize);
        let fragment = config.tiled_mma().fragment_c(m, n).unwrap();
        match Name::FragmentC.map(&sizes(&config)) {
            Ok(Map::Registers(map)) => assert_eq!(map.layout, fragment, "{config}"),
            other => panic!("the fragment is no map of registers: {other:?}"),
        }
    }
}
