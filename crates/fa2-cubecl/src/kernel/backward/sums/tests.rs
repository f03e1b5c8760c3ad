//! The conversion reads each sum of dQ where the main kernel adds to it.

use super::{block_bytes, group_offset, registers_before, staged_offset, step, warp_words};
use crate::config::backward::grid::{grid, shared_keys, warpgroups};
use crate::config::backward::sm90::DQ_COLUMNS;
use crate::config::backward::{BwdConfig, QuerySums};
use cute_layout::MmaAtom;
use std::collections::BTreeMap;

/// Byte offset in a block's sums of a lane's register, of the warp `warp` in their order.
fn address(config: &BwdConfig, warp: u32, lane: u32, register: u32) -> u32 {
    let at_once = config.sums_at_once();
    (warp * warp_words(*config) + lane * at_once) * 4
        + group_offset(*config, register / at_once)
        + register % at_once * 4
}

/// What `load` reads: [row, column] of dQ at each address.
fn loaded(config: &BwdConfig) -> BTreeMap<u32, [u32; 2]> {
    let layout = config.query_layout();
    let mut elements = BTreeMap::new();
    for unit in 0..config.threads() {
        let (warp, lane) = (unit / 32, unit % 32);
        for m in 0..layout.m_tiles {
            for n in 0..layout.n_tiles {
                for (half, c) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let register = layout.index(c, half, m, n) as u32;
                    // As in `convert`.
                    let row = warp % layout.warps * 16 + lane / 4 + layout.row_offset(m, half);
                    let column = warp / layout.warps * config.query_warp_columns()
                        + lane % 4 * 2
                        + layout.column_offset(c, n);
                    elements.insert(address(config, warp, lane, register), [row, column]);
                }
            }
        }
    }
    elements
}

#[test]
fn sums_of_a_block_fill_their_bytes() {
    for config in grid() {
        let elements = loaded(&config);
        let bytes = config.block_m() * config.head_dim() * 4;
        assert!(
            elements.keys().copied().eq((0..bytes).step_by(4)),
            "{config}"
        );
    }
}

#[test]
fn registers_follow_each_other_by_additions() {
    for config in grid() {
        let groups = config.query_layout().len() as u32 / config.sums_at_once();
        for group in 0..groups {
            let expected = group * step(config);
            assert_eq!(group_offset(config, group), expected, "{config}");
        }
    }
}

/// The copy engine adds what a lane has stored to the sums of that lane's registers; and no warp's dQ lies where
/// another's does, or another's dS.
#[test]
fn staged_sums_lie_in_their_order_and_in_their_warps_own_memory() {
    for config in warpgroups() {
        let bytes = config.dq_part_bytes();
        let in_ds = config.dq_offset() == config.ds_offset();
        let end = if in_ds {
            config.score_bytes()
        } else {
            config.dq_bytes()
        };
        let mut owners = BTreeMap::new();
        for warp in 0..config.threads() / 32 {
            let warp_sums = 4 * warp_words(config);
            for group in 0..config.query_layout().len() as u32 / 4 {
                for lane in 0..32 {
                    let offset = staged_offset(config, group) + 16 * lane;
                    let part = offset / config.dq_part_stride().max(bytes);
                    let added = part * bytes + offset - part * config.dq_part_stride();
                    let sum = warp * warp_sums + added;
                    assert_eq!(sum, address(&config, warp, lane, 4 * group), "{config}");
                    let at = warp * config.dq_warp_bytes() + offset;
                    assert!(at + 16 <= end, "{config}: {at} of {end}");
                    assert_eq!(owners.insert(at, warp), None, "{config}");
                    // Rows of an atom of dS are keys, of 128 bytes each.
                    let key = at % (config.block_n() * 128) / 128;
                    assert!(!in_ds || key / 16 == warp, "{config}: key {key}");
                }
            }
        }
    }
}

/// A warpgroup that shares keys has all columns of its queries, part after part.
#[test]
fn parts_of_shared_keys_reach_the_sums_of_all_columns() {
    for config in shared_keys() {
        let elements = loaded(&config);
        let layout = config.query_part_layout();
        let atom = MmaAtom::wgmma_ss(DQ_COLUMNS as usize);
        let mut added = BTreeMap::new();
        for unit in 0..128 {
            for column in (0..config.head_dim()).step_by(DQ_COLUMNS as usize) {
                for register in 0..layout.len() as u32 {
                    let all = registers_before(layout, column) + register;
                    let in_product = atom.c().at((unit as usize, register as usize)) as u32;
                    let element = [in_product % 64, column + in_product / 64];
                    added.insert(address(&config, unit / 32, unit % 32, all), element);
                }
            }
        }
        assert_eq!(added, elements, "{config}");
    }
}

#[test]
fn a_count_lies_behind_the_sums_of_its_block_and_before_the_next() {
    for config in grid() {
        assert_eq!(block_bytes(config), config.query_bytes(), "{config}");
        let ordered = config.with_query_sums(QuerySums::Ordered);
        assert_eq!(ordered.query_bytes(), config.query_bytes(), "{config}");
        assert!(
            block_bytes(ordered) - ordered.query_bytes() >= 4,
            "{config}"
        );
        assert!(block_bytes(ordered).is_multiple_of(128), "{config}");
    }
}
