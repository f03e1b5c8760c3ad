//! The rows that lanes address are those that `cargo xtask layout` shows.

use super::{Operand, View};
use crate::config::RowCopy;
use crate::config::tests::grid::{grid, owners};
use crate::copy::atom::CHUNK;
use crate::problem::Dtype;
use fa2_layouts::{Name, Owners};

#[test]
fn lanes_address_the_rows_that_the_named_maps_give_them() {
    let configs = grid(RowCopy::WholeRow).into_iter();
    for config in configs.filter(|config| config.block_n() == 64) {
        let (warps, m_tiles) = (config.warps() as usize, config.m_tiles());
        let (q, k, v) = (
            owners(Name::S2rASource, &config),
            owners(Name::S2rBSource, &config),
            owners(Name::S2rBtSource, &config),
        );
        let (n_tiles, d_tiles) = (
            config.block_n() as usize / 16,
            config.head_dim() as usize / 16,
        );
        for warp in 0..warps {
            let view = View::q(&config, warp as u32);
            for at in 0..m_tiles * d_tiles {
                let block = (at % m_tiles * warps, at / m_tiles);
                assert_named_addresses(&view, &q, warp, block, at);
            }
            for (n, d) in View::k(&config, 0).blocks() {
                let (of_k, of_v) = (n + n_tiles * d, d + d_tiles * n);
                assert_named_addresses(&View::k(&config, 0), &k, warp, (n, d), of_k);
                assert_named_addresses(&View::v(&config, 0), &v, warp, (n, d), of_v);
            }
        }
    }
}

/// Asserts that the addresses for a block are those of the map's ldmatrix number `repeat`.
fn assert_named_addresses(
    view: &View,
    map: &Owners,
    warp: usize,
    (row_tile, col_tile): (usize, usize),
    repeat: usize,
) {
    for lane in 0..32 {
        let [row, col] = map.coordinate(32 * warp + lane, CHUNK as usize * repeat);
        let offset = match view.operand {
            Operand::A | Operand::B => view.tile.offset(row, col),
            // The map sees V as (d, n).
            Operand::ATransposed | Operand::BTransposed => view.tile.offset(col, row),
        };
        let address = view.address(lane as u32, row_tile, col_tile);
        let expected = view.tile_base + offset as u32 * Dtype::BYTES;
        assert_eq!(
            address, expected,
            "{:?} {row_tile} {col_tile}",
            view.operand
        );
    }
}
