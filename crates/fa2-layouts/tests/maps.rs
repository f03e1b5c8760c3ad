//! The maps conserve elements: nothing is lost, and what is held more than once is meant to be.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod grid;

use fa2_layouts::{Map, Name, Owners, RowCopy, Sizes, SizesError};
use std::collections::BTreeSet;

/// Those that every warp holds whole.
const SHARED_BY_WARPS: [Name; 5] = [
    Name::S2rBSource,
    Name::S2rB,
    Name::S2rBtSource,
    Name::S2rBt,
    Name::MmaB,
];

fn owners(name: Name, sizes: &Sizes) -> Owners {
    match name.map(sizes).unwrap() {
        Map::Owners(map) => map,
        _ => panic!("{name} is no map of owners"),
    }
}

#[test]
fn every_element_has_one_owner_or_one_a_warp() {
    for sizes in grid::sizes() {
        for name in Name::ALL {
            let Map::Owners(map) = name.map(&sizes).unwrap() else {
                continue;
            };
            assert_eq!(map.thread_count(), sizes.threads(), "{name} at {sizes}");
            let copies = if SHARED_BY_WARPS.contains(&name) {
                sizes.warps()
            } else {
                1
            };
            for owners in map.by_element() {
                let warps: BTreeSet<_> = owners.iter().map(|(thread, _)| thread / 32).collect();
                assert_eq!(
                    (owners.len(), warps.len()),
                    (copies, copies),
                    "{name} at {sizes}"
                );
            }
        }
    }
}

#[test]
fn storage_and_registers_have_a_place_for_each_element_and_no_gap() {
    for sizes in grid::sizes() {
        for name in Name::ALL {
            let places: Vec<usize> = match name.map(&sizes).unwrap() {
                Map::Owners(_) => continue,
                Map::Storage(map) => {
                    let [rows, cols] = map.tile.map(|axis| axis.extent);
                    (0..rows * cols)
                        .map(|at| map.offset(at % rows, at / rows))
                        .collect()
                }
                Map::Registers(map) => (0..map.layout.size()).map(|v| map.register(v)).collect(),
            };
            let count = places.len();
            let places: BTreeSet<usize> = places.into_iter().collect();
            assert!(places.into_iter().eq(0..count), "{name} at {sizes}");
        }
    }
}

#[test]
fn a_column_of_8_rows_meets_each_16_bytes_of_the_banks_once() {
    for sizes in grid::sizes() {
        for name in [Name::SmemQ, Name::SmemKv] {
            let Map::Storage(map) = name.map(&sizes).unwrap() else {
                panic!("{name} is no map of storage");
            };
            let [rows, cols] = map.tile.map(|axis| axis.extent);
            for (row, col) in (0..rows / 8).flat_map(|r| (0..cols).map(move |col| (8 * r, col))) {
                let chunk = |row| map.offset(row, col) / 8 % 8;
                let chunks: BTreeSet<usize> = (row..row + 8).map(chunk).collect();
                assert_eq!(chunks.len(), 8, "{name} at {sizes}");
            }
        }
    }
}

#[test]
fn v_is_transposed_by_its_view_alone() {
    for sizes in grid::sizes() {
        let (Ok(Map::Storage(v)), Ok(Map::Storage(vt))) =
            (Name::SmemKv.map(&sizes), Name::SmemVt.map(&sizes))
        else {
            panic!("both are maps of storage");
        };
        for n in 0..sizes.block_n() {
            for d in 0..sizes.head_dim() {
                assert_eq!(v.offset(n, d), vt.offset(d, n), "{sizes}");
            }
        }
    }
}

#[test]
fn ldmatrix_leaves_the_operands_where_the_product_wants_them() {
    for sizes in grid::sizes() {
        let (copied, wanted) = (owners(Name::S2rA, &sizes), owners(Name::MmaA, &sizes));
        assert!(copied.layout.indices().eq(wanted.layout.indices()));
        // A copy of K fills two instructions at once: the same elements, in another order.
        let (copied, wanted) = (owners(Name::S2rB, &sizes), owners(Name::MmaB, &sizes));
        for t in 0..sizes.threads() {
            let of = |map: &Owners| -> BTreeSet<[usize; 2]> {
                (0..map.value_count())
                    .map(|v| map.coordinate(t, v))
                    .collect()
            };
            assert_eq!(of(&copied), of(&wanted), "thread {t} at {sizes}");
        }
    }
}

#[test]
fn broken_rules_are_named() {
    let error = |head_dim, blocks, warps| {
        Sizes::new(head_dim, blocks, warps, RowCopy::WholeRow)
            .unwrap_err()
            .to_string()
    };
    for (message, rule) in [
        (
            error(80, [64, 64], 4),
            "head_dim 80 is none of 32, 64, 96, 128, 192, 256",
        ),
        (
            error(64, [64, 64], 3),
            "warps 3 is not a power of two from 1 to 16",
        ),
        (
            error(64, [64, 64], 0),
            "warps 0 is not a power of two from 1 to 16",
        ),
        (
            error(64, [64, 64], 8),
            "block_m 64 is not a multiple of 16 rows x 8 warps",
        ),
        (error(64, [64, 24], 4), "block_n 24 is not a multiple of 16"),
        (
            error(32, [64, 16], 4),
            "block_n 16 is not a multiple of the 32 rows that all threads copy at once",
        ),
    ] {
        assert_eq!(message, rule);
    }
    let huge = Sizes::new(256, [64, usize::MAX - 15], 4, RowCopy::WholeRow);
    assert!(matches!(huge, Err(SizesError::SharedMemory { .. })));
    let words = "half-row whole-row row".split(' ');
    let known: Vec<bool> = words.map(|word| word.parse::<RowCopy>().is_ok()).collect();
    assert_eq!(known, [true, true, false]);
}

#[test]
fn the_articles_sizes_obey_the_rules() {
    assert_eq!(
        Sizes::new(64, [64, 64], 4, RowCopy::HalfRow),
        Ok(Sizes::ARTICLE)
    );
}

#[test]
fn names_are_read_as_they_are_written() {
    for name in Name::ALL {
        assert_eq!(name.to_string().parse(), Ok(name));
    }
    assert_eq!(
        "mma".parse::<Name>().unwrap_err().to_string(),
        "there is no layout `mma`"
    );
}
