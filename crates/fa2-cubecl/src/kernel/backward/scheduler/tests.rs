//! Cubes share the keys out once each, heavy blocks first, and visit the query blocks they must.

use super::{QueryRange, query_range};
use crate::mask::MaskKind;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What `query_range` needs to know.
#[derive(Clone, Copy, Debug)]
struct Keys {
    key: i32,
    seq_q: i32,
    seq_k: i32,
    diagonal: i32,
    kind: MaskKind,
    block_m: i32,
    block_n: i32,
}

impl Keys {
    fn range(&self) -> QueryRange {
        let Self {
            key,
            seq_q,
            seq_k,
            diagonal,
            kind,
            block_m,
            block_n,
        } = *self;
        query_range(key, seq_q, seq_k, diagonal, kind, block_m, block_n)
    }

    /// The definition of the mask.
    fn sees(&self, row: i32, key: i32) -> bool {
        let below_diagonal = match self.kind {
            MaskKind::None => true,
            MaskKind::Causal => key <= row + self.diagonal,
        };
        key < self.seq_k && below_diagonal
    }

    fn keys(&self) -> std::ops::Range<i32> {
        self.key..self.key + self.block_n
    }

    fn m_blocks(&self) -> i32 {
        (self.seq_q as u32).div_ceil(self.block_m as u32) as i32
    }

    /// Rows of a query block that exist.
    fn rows(&self, block: i32) -> std::ops::Range<i32> {
        block * self.block_m..((block + 1) * self.block_m).min(self.seq_q)
    }

    fn some_row_sees_a_key(&self, block: i32) -> bool {
        self.rows(block)
            .any(|row| self.keys().any(|key| self.sees(row, key)))
    }

    fn every_row_sees_all_keys(&self, block: i32) -> bool {
        self.rows(block)
            .all(|row| self.keys().all(|key| self.sees(row, key)))
    }
}

fn any_keys() -> impl Strategy<Value = Keys> {
    let size = prop::sample::select(vec![16, 32, 48, 64, 128]);
    let kind = prop::sample::select(vec![MaskKind::None, MaskKind::Causal]);
    (
        1..300,
        1..300,
        -320..320,
        kind,
        size.clone(),
        size,
        any::<prop::sample::Index>(),
    )
        .prop_map(
            |(seq_q, seq_k, diagonal, kind, block_m, block_n, n_block)| {
                let n_blocks = (seq_k as usize).div_ceil(block_n as usize);
                let key = n_block.index(n_blocks) as i32 * block_n;
                Keys {
                    key,
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
    fn visited_blocks_are_all_and_only_those_with_a_row_that_sees_a_key(keys in any_keys()) {
        let QueryRange { first, blocks, .. } = keys.range();
        for block in 0..keys.m_blocks() {
            let visited = (first..first + blocks).contains(&block);
            prop_assert_eq!(visited, keys.some_row_sees_a_key(block));
        }
        prop_assert!(first >= 0 && blocks >= 0 && first + blocks == keys.m_blocks());
    }

    /// Who waits for its turn to add to dQ waits for the earlier keys, all of which must come there.
    #[test]
    fn earlier_keys_visit_every_block_that_later_ones_do(keys in any_keys()) {
        let QueryRange { first, blocks, .. } = keys.range();
        for key in (0..keys.key).step_by(keys.block_n as usize) {
            let earlier = Keys { key, ..keys }.range();
            prop_assert!(earlier.first <= first);
            prop_assert_eq!(earlier.first + earlier.blocks, first + blocks);
        }
    }

    #[test]
    fn masked_blocks_come_first_and_are_those_with_a_hidden_score(keys in any_keys()) {
        let QueryRange { first, blocks, masked } = keys.range();
        for t in 0..blocks {
            prop_assert_eq!(t < masked, !keys.every_row_sees_all_keys(first + t));
        }
        prop_assert!((0..=blocks).contains(&masked));
    }
}

#[test]
fn the_largest_lengths_do_not_overflow() {
    // The limit of `Problem::validate`.
    let limit = i32::MAX / 2;
    for (seq_q, seq_k) in [(limit, limit), (limit, 1), (1, limit)] {
        for diagonal in [0, seq_k - seq_q] {
            for key in [0, (seq_k - 1) / 128 * 128] {
                let keys = Keys {
                    key,
                    seq_q,
                    seq_k,
                    diagonal,
                    kind: MaskKind::Causal,
                    block_m: 64,
                    block_n: 128,
                };
                let blocks = |queries: i64| {
                    let queries = queries.clamp(0, i64::from(seq_q)) as u64;
                    queries.div_ceil(64) as i32
                };
                let sees = |key: i32| i64::from(key) - i64::from(diagonal);
                let first = (sees(key).max(0) / 64).min(i64::from(keys.m_blocks())) as i32;
                let last = i64::from(key) + 127;
                let ragged = last >= i64::from(seq_k);
                let cut = if ragged {
                    keys.m_blocks()
                } else {
                    blocks(last - i64::from(diagonal))
                };
                let expected = QueryRange {
                    first,
                    blocks: keys.m_blocks() - first,
                    masked: (cut - first).clamp(0, keys.m_blocks() - first),
                };
                assert_eq!(keys.range(), expected, "{keys:?}");
            }
        }
    }
}

/// The grid of a launch.
#[derive(Clone, Copy, Debug)]
struct Grid {
    heads_total: u32,
    n_blocks: u32,
    section: u32,
}

impl Grid {
    /// Head and key block of `cube`: the arithmetic of `key_tile`, which reads the cube's position and
    /// so runs on the device only.
    fn work(&self, cube: u32) -> (u32, u32) {
        let section_cubes = self.section * self.n_blocks;
        let section = cube / section_cubes;
        let first_head = section * self.section;
        let in_section = cube - section * section_cubes;
        let heads = self.section.min(self.heads_total - first_head);
        let n_block = in_section / heads;
        (first_head + in_section - n_block * heads, n_block)
    }
}

#[test]
fn every_key_block_of_every_head_is_the_work_of_one_cube_and_sections_start_with_the_first() {
    for heads_total in 1..=12 {
        for n_blocks in 1..=6 {
            for section in 1..=heads_total {
                let grid = Grid {
                    heads_total,
                    n_blocks,
                    section,
                };
                let work: Vec<_> = (0..heads_total * n_blocks).map(|c| grid.work(c)).collect();
                let distinct: BTreeSet<_> = work.iter().copied().collect();
                let all = (0..heads_total).flat_map(|h| (0..n_blocks).map(move |n| (h, n)));
                assert!(distinct.into_iter().eq(all), "{grid:?}");
                for pair in work.windows(2) {
                    let [(head, block), (next_head, next_block)] = [pair[0], pair[1]];
                    let (here, next) = (head / section, next_head / section);
                    assert!(
                        here < next || here == next && block <= next_block,
                        "{grid:?}"
                    );
                }
            }
        }
    }
}
