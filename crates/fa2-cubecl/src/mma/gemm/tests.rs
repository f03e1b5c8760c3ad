//! P's A fragment is its C fragment under another layout (claim L8).

use super::p_view;
use crate::config::tests::grid::{article, grid, sizes};
use crate::config::{FwdConfig, RowCopy};
use crate::mma::accumulator::AccumulatorLayout;
use cute_layout::Layout;
use fa2_layouts::{Map, Name};

/// The layout of scores.
fn scores(config: &FwdConfig) -> AccumulatorLayout {
    AccumulatorLayout {
        m_tiles: config.m_tiles(),
        n_tiles: config.block_n() as usize / 8,
        warps: config.warps(),
        warps_n: 1,
    }
}

/// P does not depend on the head size.
fn configs() -> impl Iterator<Item = FwdConfig> {
    grid(RowCopy::WholeRow)
        .into_iter()
        .filter(|config| config.head_dim() == 64)
}

/// ((a0, a1, a2), m, step) of every element of P's A fragment.
fn coordinates(config: &FwdConfig) -> impl Iterator<Item = ([usize; 3], usize, usize)> + use<> {
    let (m_tiles, steps) = (config.m_tiles(), config.block_n() as usize / 16);
    (0..8 * m_tiles * steps).map(move |i| {
        (
            [i % 2, i / 2 % 2, i / 4 % 2],
            i / 8 % m_tiles,
            i / 8 / m_tiles,
        )
    })
}

#[test]
fn l8_the_view_of_p_is_the_articles() {
    let view = p_view(&scores(&article(2)));
    assert_eq!(view.to_string(), "((_2,_2,_2),_1,_4):((_1,_2,_4),_0,_8)");
    for ([a0, a1, a2], m, step) in coordinates(&article(2)) {
        assert_eq!(
            view.at(((a0, a1, a2), m, step)),
            a0 + 2 * a1 + 4 * a2 + 8 * step
        );
    }
}

#[test]
fn l8_the_view_is_the_named_map() {
    for config in configs() {
        match Name::CToA.map(&sizes(&config)) {
            Ok(Map::Registers(map)) => assert_eq!(p_view(&scores(&config)), map.layout, "{config}"),
            other => panic!("the view is no map of registers: {other:?}"),
        }
    }
}

#[test]
fn l8_the_view_finds_the_same_element_in_every_lane() {
    for config in configs() {
        let tile = Layout::compact((config.block_m() as usize, config.block_n() as usize));
        let view = p_view(&scores(&config));
        for thread in 0..config.threads() as usize {
            let as_c = config.tiled_mma().partition_c(&tile, thread).unwrap();
            let as_a = config.tiled_mma().partition_a(&tile, thread).unwrap();
            for ([a0, a1, a2], m, step) in coordinates(&config) {
                let register = view.at(((a0, a1, a2), m, step));
                let held = as_c.offset + as_c.layout.nth(register);
                assert_eq!(held, as_a.at(((a0, a1, a2), m, step)), "{config}");
            }
        }
    }
}

#[test]
fn l8_pairs_that_are_rounded_together_are_neighbors_in_registers() {
    for config in configs() {
        let view = p_view(&scores(&config));
        for ([a0, a1, a2], m, step) in coordinates(&config) {
            let first = view.at(((0, a1, a2), m, step));
            assert!(first.is_multiple_of(2), "{config}");
            assert_eq!(view.at(((a0, a1, a2), m, step)), first + a0, "{config}");
        }
    }
}
