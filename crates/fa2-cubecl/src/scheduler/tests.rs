//! Cubes share the work out once each, heavy blocks first, and visit the key blocks they must.

use super::{BlockRange, block_range};
use crate::mask::MaskKind;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What `block_range` needs to know.
#[derive(Clone, Copy, Debug)]
struct Rows {
    row: i32,
    seq_q: i32,
    seq_k: i32,
    diagonal: i32,
    kind: MaskKind,
    block_m: i32,
    block_n: i32,
}

impl Rows {
    fn range(&self) -> BlockRange {
        let Self {
            row,
            seq_q,
            seq_k,
            diagonal,
            kind,
            block_m,
            block_n,
        } = *self;
        block_range(row, seq_q, seq_k, diagonal, kind, block_m, block_n)
    }

    /// The definition of the mask.
    fn sees(&self, row: i32, column: i32) -> bool {
        let below_diagonal = match self.kind {
            MaskKind::None => true,
            MaskKind::Causal => column <= row + self.diagonal,
        };
        column < self.seq_k && below_diagonal
    }

    /// Rows of the cube that exist.
    fn rows(&self) -> std::ops::Range<i32> {
        self.row..(self.row + self.block_m).min(self.seq_q)
    }

    fn columns(&self, block: i32) -> std::ops::Range<i32> {
        block * self.block_n..(block + 1) * self.block_n
    }

    fn some_row_sees_a_key_of(&self, block: i32) -> bool {
        self.rows()
            .any(|row| self.columns(block).any(|column| self.sees(row, column)))
    }

    fn every_row_sees_whole(&self, block: i32) -> bool {
        self.rows()
            .all(|row| self.columns(block).all(|column| self.sees(row, column)))
    }
}

fn any_rows() -> impl Strategy<Value = Rows> {
    let size = prop::sample::select(vec![16, 32, 48, 64, 128]);
    let kind = prop::sample::select(vec![MaskKind::None, MaskKind::Causal]);
    (
        1..300,
        0..300,
        -320..320,
        kind,
        size.clone(),
        size,
        any::<prop::sample::Index>(),
    )
        .prop_map(
            |(seq_q, seq_k, diagonal, kind, block_m, block_n, m_block)| {
                let m_blocks = (seq_q as usize).div_ceil(block_m as usize);
                let row = m_block.index(m_blocks) as i32 * block_m;
                Rows {
                    row,
                    seq_q,
                    seq_k,
                    diagonal,
                    kind,
                    block_m,
                    block_n,
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn visited_blocks_are_all_and_only_those_with_a_key_that_some_row_sees(rows in any_rows()) {
        let BlockRange { blocks, .. } = rows.range();
        let beyond = rows.seq_k / rows.block_n + 2;
        for block in 0..beyond {
            prop_assert_eq!(rows.some_row_sees_a_key_of(block), block < blocks);
        }
        prop_assert!((0..beyond).contains(&blocks));
    }

    #[test]
    fn full_blocks_are_the_leading_ones_that_every_row_sees_whole(rows in any_rows()) {
        let BlockRange { blocks, full } = rows.range();
        let leading = (0..).take_while(|&block| rows.every_row_sees_whole(block)).count();
        prop_assert_eq!(full as usize, leading);
        prop_assert!(full <= blocks);
    }

    /// The pipeline copies only the first visited block with a limit on its rows, and with one
    /// stage the masked ones too.
    #[test]
    fn only_the_first_visited_block_reaches_past_the_end_of_the_keys(rows in any_rows()) {
        let BlockRange { blocks, full } = rows.range();
        for block in 0..blocks - 1 {
            prop_assert!((block + 1) * rows.block_n <= rows.seq_k);
        }
        prop_assert!(full * rows.block_n <= rows.seq_k);
    }

    /// Rows past the end of the queries are computed too: what they see must lie in the visited
    /// blocks' memory, and nothing of them is stored.
    #[test]
    fn masked_blocks_are_visited_first(rows in any_rows()) {
        let BlockRange { blocks, full } = rows.range();
        // Visit t is block `blocks - 1 - t`, masked for the first `blocks - full` visits.
        for t in 0..blocks {
            let block = blocks - 1 - t;
            let masked = t < blocks - full;
            prop_assert_eq!(masked, !rows.every_row_sees_whole(block));
        }
    }
}

#[test]
fn the_largest_lengths_do_not_overflow() {
    // The limit of `Problem::validate`.
    let limit = i32::MAX / 2;
    for (seq_q, seq_k) in [(limit, limit), (limit, 1), (limit, 0), (1, limit)] {
        for diagonal in [0, seq_k - seq_q] {
            for row in [0, (seq_q - 1) / 128 * 128] {
                let kind = MaskKind::Causal;
                let block_n = 128;
                let rows = Rows {
                    row,
                    seq_q,
                    seq_k,
                    diagonal,
                    kind,
                    block_m: 128,
                    block_n,
                };
                let end = |row: i32| {
                    i64::from(seq_k)
                        .min(i64::from(row) + i64::from(diagonal) + 1)
                        .max(0)
                };
                let last = (i64::from(row) + 128).min(i64::from(seq_q)) as i32 - 1;
                let blocks = (end(last) as u64).div_ceil(128) as i32;
                let full = (end(row) / 128) as i32;
                assert_eq!(rows.range(), BlockRange { blocks, full });
            }
        }
    }
}

/// The grid of a launch.
#[derive(Clone, Copy, Debug)]
struct Grid {
    heads_total: u32,
    m_blocks: u32,
    section: u32,
}

impl Grid {
    /// Head and query block of `cube`: the arithmetic of `work_tile`, which reads the cube's
    /// position and so runs on the device only.
    fn work(&self, cube: u32) -> (u32, u32) {
        let section_cubes = self.section * self.m_blocks;
        let section = cube / section_cubes;
        let first_head = section * self.section;
        let in_section = cube - section * section_cubes;
        let heads = self.section.min(self.heads_total - first_head);
        let from_last = in_section / heads;
        let head = first_head + in_section - from_last * heads;
        (head, self.m_blocks - from_last - 1)
    }

    fn all(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.heads_total * self.m_blocks).map(|cube| self.work(cube))
    }
}

/// Every grid of up to 24 heads and 9 query blocks, with every section.
fn grids() -> impl Iterator<Item = Grid> {
    (1..=24).flat_map(|heads_total| {
        (1..=9).flat_map(move |m_blocks| {
            (1..=heads_total).map(move |section| Grid {
                heads_total,
                m_blocks,
                section,
            })
        })
    })
}

#[test]
fn every_query_block_of_every_head_is_the_work_of_exactly_one_cube() {
    for grid in grids() {
        let work: BTreeSet<_> = grid.all().collect();
        let all = (0..grid.heads_total).flat_map(|h| (0..grid.m_blocks).map(move |m| (h, m)));
        assert!(work.into_iter().eq(all), "{grid:?}");
    }
}

#[test]
fn sections_follow_each_other_and_start_with_their_last_query_blocks() {
    for grid in grids() {
        let work: Vec<_> = grid.all().collect();
        for pair in work.windows(2) {
            let [(head, m_block), (next_head, next_m_block)] = [pair[0], pair[1]];
            let (section, next_section) = (head / grid.section, next_head / grid.section);
            assert!(section <= next_section, "{grid:?}");
            if section == next_section {
                assert!(m_block >= next_m_block, "{grid:?}");
            }
        }
    }
}

#[test]
fn within_a_section_heavy_cubes_come_first_under_a_causal_mask() {
    let (block_m, block_n) = (64, 32);
    for grid in grids() {
        let seq_q = grid.m_blocks as i32 * block_m - 17;
        for (seq_k, diagonal) in [(seq_q, 0), (seq_q + 100, 100), (seq_q - 40, -40)] {
            let blocks = |m_block: u32| {
                let row = m_block as i32 * block_m;
                let kind = MaskKind::Causal;
                Rows {
                    row,
                    seq_q,
                    seq_k,
                    diagonal,
                    kind,
                    block_m,
                    block_n,
                }
                .range()
                .blocks
            };
            let work: Vec<_> = grid.all().collect();
            for pair in work
                .windows(2)
                .filter(|p| p[0].0 / grid.section == p[1].0 / grid.section)
            {
                assert!(blocks(pair[0].1) >= blocks(pair[1].1), "{grid:?}");
            }
        }
    }
}
