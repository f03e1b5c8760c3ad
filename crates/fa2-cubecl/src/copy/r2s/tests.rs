//! The owners of O's C fragment store every pair where Q's tile wants it.
//!
//! `address` repeats the arithmetic of `R2s` around the functions that it calls, since CubeCL's
//! arrays do not exist on the host.

use super::{chunks_per_atom, lane_layout};
use crate::config::tests::grid::{grid, owners};
use crate::config::{FwdConfig, RowCopy};
use crate::copy::atom::CHUNK;
use crate::problem::Dtype;
use crate::tensor::evaluate::{evaluate, swizzled};
use cute_layout::Layout;
use cute_layout::bank::{AccessWidth, conflict_ways};
use fa2_layouts::Name;
use std::collections::BTreeSet;

/// Byte offset in Q's tile of the pair (half, m, n) of `lane` of `warp`.
fn address(config: &FwdConfig, [warp, lane]: [u32; 2], [half, m, n]: [usize; 3]) -> u32 {
    let tile = config.q_tile();
    let chunks = chunks_per_atom(&tile);
    let offset = swizzled(
        evaluate(lane, lane_layout(tile.atom_cols())),
        tile.swizzle(),
    );
    let warp_base = warp * (16 * tile.atom_cols() as u32 * Dtype::BYTES);
    let base = warp_base + (offset ^ ((n % chunks) as u32 * CHUNK)) * Dtype::BYTES;
    let row = m * 16 * config.warps() as usize + 8 * half;
    base + tile.offset(row, n / chunks * tile.atom_cols()) as u32 * Dtype::BYTES
}

/// (half, m, n) of every pair of a lane.
fn pairs(config: &FwdConfig) -> impl Iterator<Item = [usize; 3]> + use<> {
    let (m_tiles, n_tiles) = (config.m_tiles(), config.head_dim() as usize / 8);
    (0..2 * m_tiles * n_tiles).map(move |i| [i % 2, i / 2 % m_tiles, i / 2 / m_tiles])
}

/// Block sizes of keys do not matter to O.
fn configs() -> impl Iterator<Item = FwdConfig> {
    grid(RowCopy::WholeRow)
        .into_iter()
        .filter(|config| config.block_n() == 64)
}

#[test]
fn pairs_of_the_c_fragment_go_to_their_row_and_column() {
    for config in configs() {
        let (rows, tile) = (config.block_m() as usize, config.q_tile());
        let identity = Layout::compact((rows, config.head_dim() as usize));
        for thread in 0..config.threads() {
            let fragment = config
                .tiled_mma()
                .partition_c(&identity, thread as usize)
                .unwrap();
            for [half, m, n] in pairs(&config) {
                let address = address(&config, [thread / 32, thread % 32], [half, m, n]);
                for c in 0..2 {
                    let owned = fragment.at(((c, half), m, n));
                    let offset = tile.offset(owned % rows, owned / rows);
                    assert_eq!(address as usize + 2 * c, 2 * offset, "{config}");
                }
            }
        }
    }
}

#[test]
fn threads_store_the_pairs_that_the_named_map_gives_them() {
    for config in configs() {
        let (map, tile) = (owners(Name::R2s, &config), config.q_tile());
        for thread in 0..config.threads() {
            let here = [thread / 32, thread % 32];
            let stored: BTreeSet<u32> = pairs(&config)
                .map(|pair| address(&config, here, pair))
                .collect();
            let owned: BTreeSet<u32> = (0..map.value_count())
                .step_by(2)
                .map(|value| {
                    let [row, col] = map.coordinate(thread as usize, value);
                    tile.offset(row, col) as u32 * Dtype::BYTES
                })
                .collect();
            assert_eq!(stored, owned, "{config} thread {thread}");
        }
    }
}

#[test]
fn every_pair_of_o_is_stored_exactly_once() {
    for config in configs() {
        let stored: BTreeSet<u32> = (0..config.threads())
            .flat_map(|thread| {
                let here = [thread / 32, thread % 32];
                pairs(&config).map(move |pair| address(&config, here, pair))
            })
            .collect();
        let pairs = config.q_tile().elements() as u32 / 2;
        assert!(
            stored.into_iter().eq((0..pairs).map(|pair| 4 * pair)),
            "{config}"
        );
    }
}

#[test]
fn a_warp_stores_over_the_rows_of_q_that_it_alone_has_read() {
    for config in configs() {
        let rows = config.block_m() as usize;
        let identity = Layout::compact((rows, config.head_dim() as usize));
        let mma = config.tiled_mma();
        let rows_of = |read: bool, warp: usize| -> BTreeSet<usize> {
            (32 * warp..32 * (warp + 1))
                .flat_map(|thread| {
                    let part = if read {
                        mma.partition_a(&identity, thread).unwrap()
                    } else {
                        mma.partition_c(&identity, thread).unwrap()
                    };
                    part.indices()
                        .map(|index| index % rows)
                        .collect::<BTreeSet<_>>()
                })
                .collect()
        };
        let warps = config.warps() as usize;
        let mut read = BTreeSet::new();
        for warp in 0..warps {
            assert_eq!(rows_of(true, warp), rows_of(false, warp), "{config}");
            read.extend(rows_of(true, warp));
        }
        let total: usize = (0..warps).map(|warp| rows_of(true, warp).len()).sum();
        assert_eq!((read.len(), total), (rows, rows), "{config}");
    }
}

#[test]
fn stores_of_pairs_have_no_bank_conflict() {
    for config in configs() {
        for warp in 0..config.warps() {
            for pair in pairs(&config) {
                let addresses = std::array::from_fn(|lane| {
                    address(&config, [warp, lane as u32], pair) as usize
                });
                let ways = conflict_ways(&addresses, AccessWidth::Bytes4).unwrap();
                assert_eq!(ways, 1, "{config}");
            }
        }
    }
}
