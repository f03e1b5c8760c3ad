//! Register numbers and positions of the C fragment are those of `cute_layout`.

use super::AccumulatorLayout;
use crate::config::tests::grid::{article, grid};
use crate::config::{FwdConfig, RowCopy};
use cute_layout::{Layout, row_col_view};
use std::collections::BTreeSet;

/// The layout of scores.
fn scores(config: &FwdConfig) -> AccumulatorLayout {
    AccumulatorLayout {
        m_tiles: config.m_tiles(),
        n_tiles: config.block_n() as usize / 8,
        warps: config.warps(),
        warps_n: 1,
    }
}

/// Scores do not depend on the head size.
fn configs() -> impl Iterator<Item = FwdConfig> {
    grid(RowCopy::WholeRow)
        .into_iter()
        .filter(|config| config.head_dim() == 64)
}

/// (c, half, m, n) of every register.
fn coordinates(layout: AccumulatorLayout) -> impl Iterator<Item = [usize; 4]> {
    let m_tiles = layout.m_tiles;
    (0..layout.len()).map(move |i| [i % 2, i / 2 % 2, i / 4 % m_tiles, i / 4 / m_tiles])
}

#[test]
fn l2_registers_are_the_compact_c_fragment() {
    let fragment = article(2).tiled_mma().fragment_c(64, 64).unwrap();
    assert_eq!(fragment.to_string(), "((_2,_2),_1,_8):((_1,_2),_0,_4)");
    for config in configs() {
        let (m, n) = (config.block_m() as usize, config.block_n() as usize);
        let fragment = config.tiled_mma().fragment_c(m, n).unwrap();
        let layout = scores(&config);
        assert_eq!(layout.len(), fragment.size(), "{config}");
        for [c, half, m, n] in coordinates(layout) {
            let register = fragment.at(((c, half), m, n));
            assert_eq!(layout.index(c, half, m, n), register, "{config}");
        }
    }
}

#[test]
fn l6_offsets_from_the_lanes_first_element_are_the_owners_formulas() {
    for config in configs() {
        let rows = config.block_m() as usize;
        let identity = Layout::compact((rows, config.block_n() as usize));
        let layout = scores(&config);
        for thread in 0..config.threads() as usize {
            let (w, g, q) = (thread / 32, thread % 32 / 4, thread % 4);
            let fragment = config.tiled_mma().partition_c(&identity, thread).unwrap();
            for [c, half, m, n] in coordinates(layout) {
                let row = 16 * w + g + layout.row_offset(m, half) as usize;
                let column = 2 * q + layout.column_offset(c, n) as usize;
                let owned = fragment.at(((c, half), m, n));
                assert_eq!((row, column), (owned % rows, owned / rows), "{config}");
                // L6, where the warps' tiles repeat along M.
                let formula = 16 * (m * config.warps() as usize + w) + g + 8 * half;
                assert_eq!((row, column), (formula, 8 * n + 2 * q + c), "{config}");
            }
        }
    }
}

#[test]
fn l7_registers_of_a_row_are_the_row_column_view_of_the_fragment() {
    for config in configs() {
        let (m, n) = (config.block_m() as usize, config.block_n() as usize);
        let layout = scores(&config);
        let view = row_col_view(&config.tiled_mma().fragment_c(m, n).unwrap()).unwrap();
        assert_eq!(
            view.mode_sizes(),
            [layout.rows(), 2 * layout.n_tiles],
            "{config}"
        );
        let mut registers = BTreeSet::new();
        for row in 0..layout.rows() {
            for n in 0..layout.n_tiles {
                for c in 0..2 {
                    let register = layout.index_in_row(c, row, n);
                    assert_eq!(register, view.at((row, c + 2 * n)), "{config}");
                    registers.insert(register);
                }
            }
        }
        assert!(registers.into_iter().eq(0..layout.len()), "{config}");
    }
}

#[test]
fn rows_of_results_are_those_that_the_epilogue_names() {
    // The epilogue finds the row (m, half) at 2 m + half; softmax numbers it by `index_in_row`.
    for config in configs() {
        let layout = scores(&config);
        for [c, half, m, n] in coordinates(layout) {
            assert_eq!(
                layout.index_in_row(c, 2 * m + half, n),
                layout.index(c, half, m, n)
            );
        }
    }
}
