//! The maps conserve elements: nothing is lost, and what is held more than once is meant to be.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod grid;

use fa2_layouts::{Engine, Map, MapError, Name, Owners, RowCopy, Sizes, SizesError};
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
        for name in Name::of(&sizes) {
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
        for name in Name::of(&sizes) {
            let places: Vec<usize> = match name.map(&sizes).unwrap() {
                Map::Owners(_) | Map::Descriptors(_) => continue,
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
    let sm80 = |sizes: &Sizes| sizes.row_copy().engine() == Engine::Sm80;
    for sizes in grid::sizes().into_iter().filter(sm80) {
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
fn every_wgmma_reads_its_part_of_the_tile() {
    let mut reads = 0;
    for sizes in grid::sizes() {
        for name in Name::of(&sizes) {
            let Map::Descriptors(map) = name.map(&sizes).unwrap() else {
                continue;
            };
            let (tile, major) = (map.operand.layout(), map.operand.major());
            let [rows, depth] = map.instruction.map(|axis| axis.extent);
            let [tiles, steps] = map.counts();
            assert_eq!([tiles * rows, steps * depth], map.operand.extents());
            for (mu, kappa) in (0..tiles).flat_map(|mu| (0..steps).map(move |k| (mu, k))) {
                let (mn, k) = (mu * rows, kappa * depth);
                assert_eq!(map.start(mu, kappa), map.operand.start(mn, k));
                let descriptor = map.descriptor(0, mu, kappa);
                for (i, j) in (0..rows).flat_map(|i| (0..depth).map(move |j| (i, j))) {
                    let element = 2 * tile.at((mn + i, k + j));
                    assert_eq!(
                        descriptor.address(major, i, j),
                        element,
                        "{name} at {sizes}"
                    );
                    reads += 1;
                }
            }
        }
    }
    assert!(reads > 0);
}

#[test]
fn p_needs_no_move_between_two_wgmmas() {
    let sm90 = |sizes: &Sizes| sizes.row_copy().engine() == Engine::Sm90;
    for sizes in grid::sizes().into_iter().filter(sm90) {
        let (Ok(Map::Owners(s)), Ok(Map::Owners(p)), Ok(Map::Registers(view))) = (
            Name::WgmmaC.map(&sizes),
            Name::WgmmaA.map(&sizes),
            Name::WgmmaCToA.map(&sizes),
        ) else {
            panic!("P and S are registers at {sizes}");
        };
        for t in 0..sizes.threads() {
            for v in 0..p.value_count() {
                assert_eq!(
                    s.coordinate(t, view.register(v)),
                    p.coordinate(t, v),
                    "{sizes}"
                );
            }
        }
        if sizes.m_tiles() == 1 {
            assert!(
                (0..view.layout.size()).all(|v| view.register(v) == v),
                "{sizes}"
            );
        }
    }
}

#[test]
fn a_map_of_the_other_engine_is_refused() {
    let error = Name::WgmmaC.map(&Sizes::ARTICLE).unwrap_err();
    assert!(matches!(
        error,
        MapError::Engine {
            engine: Engine::Sm90,
            ..
        }
    ));
    assert_eq!(
        Name::MmaC
            .map(&Sizes::ONE_WARPGROUP)
            .unwrap_err()
            .to_string(),
        "mma-c is a map of the SM80 kernels, and D = 64, BM = 64, BN = 64, 4 warps, bulk copies \
         are sizes of the others"
    );
    for name in Name::ALL {
        let known = [Sizes::ARTICLE, Sizes::ONE_WARPGROUP].map(|sizes| name.map(&sizes).is_ok());
        let of_both = name.engine().is_none();
        assert_eq!(known, [known[0], of_both || !known[0]], "{name}");
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
    let error = |blocks, warps| Sizes::new(64, blocks, warps, RowCopy::Bulk).unwrap_err();
    for (message, rule) in [
        (
            error([64, 64], 2),
            "warps 2 are not one, two or three warpgroups of 4",
        ),
        (
            error([256, 64], 16),
            "warps 16 are not one, two or three warpgroups of 4",
        ),
        (
            error([64, 64], 8),
            "block_m 64 is not a multiple of 16 rows x 8 warps",
        ),
        (
            error([64, 272], 4),
            "block_n 272 is more than the 256 columns of a wgmma",
        ),
    ] {
        assert_eq!(message.to_string(), rule);
    }
    let huge = Sizes::new(256, [64, usize::MAX - 15], 4, RowCopy::WholeRow);
    assert!(matches!(huge, Err(SizesError::SharedMemory { .. })));
    let words = "half-row whole-row bulk row".split(' ');
    let known: Vec<bool> = words.map(|word| word.parse::<RowCopy>().is_ok()).collect();
    assert_eq!(known, [true, true, true, false]);
}

#[test]
fn the_articles_sizes_obey_the_rules() {
    assert_eq!(
        Sizes::new(64, [64, 64], 4, RowCopy::HalfRow),
        Ok(Sizes::ARTICLE)
    );
    assert_eq!(
        Sizes::new(64, [64, 64], 4, RowCopy::Bulk),
        Ok(Sizes::ONE_WARPGROUP)
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
