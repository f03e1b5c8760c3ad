//! Blocks go where the tile's layout wants them, each pair once, without bank conflicts.
//!
//! `address` repeats the arithmetic of `R2sBlock` around the functions that it calls, since CubeCL's
//! arrays do not exist on the host.

use super::block_lane_layout;
use crate::config::MMA_K;
use crate::config::backward::grid::grid;
use crate::config::backward::{BwdConfig, Instructions};
use crate::copy::s2r::steps_per_atom;
use crate::problem::Dtype;
use crate::tensor::evaluate::{evaluate, swizzled};
use cute_layout::bank::{AccessWidth, conflict_ways};
use std::collections::BTreeSet;

/// A warp's block of 16 keys and 16 queries: the warp's number, repeat along M, pair along N. Where warpgroups
/// share keys, rows are queries, and the warps are those of one.
type Block = [usize; 3];

/// Byte address of `lane` for a block.
fn address(config: &BwdConfig, [warp, m, pair]: Block, lane: u32) -> u32 {
    let (tile, layout) = (config.score_tile(), config.score_layout());
    let (warp, warp_n) = (warp as u32 % layout.warps, warp as u32 / layout.warps);
    let lanes = block_lane_layout(config.instructions(), tile.atom_cols());
    let offset = swizzled(evaluate(lane, lanes), tile.swizzle()) ^ (warp_n * MMA_K);
    let row_bytes = MMA_K * tile.atom_cols() as u32 * Dtype::BYTES;
    let base = warp * row_bytes + offset * Dtype::BYTES;
    let steps = steps_per_atom(&tile);
    let column = layout.column_tile(pair);
    let step = base ^ ((column % steps) as u32 * MMA_K * Dtype::BYTES);
    let row = layout.row_offset(m, 0) as usize;
    step + tile.offset(row, column / steps * tile.atom_cols()) as u32 * Dtype::BYTES
}

fn blocks(config: &BwdConfig) -> impl Iterator<Item = Block> + use<> {
    let layout = config.score_layout();
    let warps = (layout.warps * layout.warps_n) as usize;
    let (m_tiles, pairs) = (layout.m_tiles, layout.n_tiles / 2);
    (0..warps * m_tiles * pairs).map(move |i| [i % warps, i / warps % m_tiles, i / warps / m_tiles])
}

/// Key and query of the first element of a block.
fn corner(config: &BwdConfig, [warp, m, pair]: Block) -> [usize; 2] {
    let layout = config.score_layout();
    let (warps, warps_n) = (layout.warps as usize, layout.warps_n as usize);
    [
        16 * (warp % warps + m * warps),
        16 * (warp / warps + pair * warps_n),
    ]
}

/// An 8x8 matrix of a block: its row and column from the block's corner, and where each lane's pair goes.
type Matrix<'a> = ([usize; 2], Box<dyn Fn(u32) -> u32 + 'a>);

/// The four matrices of a block.
fn matrices(config: &BwdConfig, block: Block) -> Vec<Matrix<'_>> {
    let atom_cols = config.score_tile().atom_cols() as u32;
    (0..4)
        .map(|i| {
            let at = [i % 2 * 8, i / 2 * 8];
            let of_lane: Box<dyn Fn(u32) -> u32> = match config.instructions() {
                // One store of pairs each: lane (q, g) has columns 2q of row g.
                Instructions::Sm80 => Box::new(move |lane| {
                    let beside = address(config, block, lane) ^ (i as u32 / 2 * 16);
                    beside + i as u32 % 2 * 8 * atom_cols * Dtype::BYTES
                }),
                // Row r of matrix i is addressed by lane 8 i + r: lane (q, g) finds its pair there.
                Instructions::Sm90 | Instructions::Sm90a => Box::new(move |lane| {
                    address(config, block, 8 * i as u32 + lane / 4) + lane % 4 * 4
                }),
            };
            (at, of_lane)
        })
        .collect()
}

#[test]
fn every_pair_goes_to_its_key_and_query_and_is_stored_once() {
    for config in grid().into_iter().filter(|config| config.head_dim() == 64) {
        let tile = config.score_tile();
        let mut stored = BTreeSet::new();
        for block in blocks(&config) {
            let [key, query] = corner(&config, block);
            for ([row, column], of_lane) in matrices(&config, block) {
                for lane in 0..32_u32 {
                    let (g, q) = (lane as usize / 4, lane as usize % 4);
                    let expected = tile.offset(key + row + g, query + column + 2 * q);
                    let found = of_lane(lane);
                    assert_eq!(found as usize, 2 * expected, "{config}");
                    assert!(stored.insert(found), "{config}");
                }
            }
        }
        let queries = config.queries_at_once() as usize;
        assert_eq!(stored.len(), tile.rows() * queries / 2, "{config}");
    }
}

#[test]
fn no_store_has_a_bank_conflict() {
    for config in grid().into_iter().filter(|config| config.head_dim() == 64) {
        for block in blocks(&config) {
            match config.instructions() {
                Instructions::Sm80 => {
                    for (_, of_lane) in matrices(&config, block) {
                        let addresses = std::array::from_fn(|lane| of_lane(lane as u32) as usize);
                        let ways = conflict_ways(&addresses, AccessWidth::Bytes4).unwrap();
                        assert_eq!(ways, 1, "{config}");
                    }
                }
                Instructions::Sm90 | Instructions::Sm90a => {
                    let addresses =
                        std::array::from_fn(|lane| address(&config, block, lane as u32) as usize);
                    let ways = conflict_ways(&addresses, AccessWidth::Bytes16).unwrap();
                    assert_eq!(ways, 1, "{config}");
                }
            }
        }
    }
}
