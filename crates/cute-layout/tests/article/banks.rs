//! K2: the swizzle, and the bank conflicts of `cp.async` and `ldmatrix` with it and without.
//!
//! Conflicts are those of the model in `src/bank.rs`, counted for all head dimensions of the
//! kernels.

use std::array;
use std::collections::BTreeSet;

use cute_layout::bank::{AccessWidth, conflict_ways};
use cute_layout::{CopyAtom, Layout, MmaAtom, Partition, SmemTile, Swizzle, TiledCopy, TiledMma};

use crate::{BLOCK, D, THREADS, copy_of_lanes, half_row_copy};

const HEAD_DIMS: [usize; 6] = [32, 64, 96, 128, 192, 256];
/// Bytes of an f16.
const ELEMENT: usize = 2;

/// The article's MMA with copies to fragments of 16 columns, which divide all head dimensions.
fn narrow_mma() -> TiledMma {
    TiledMma::new(MmaAtom::m16n8k16(), [4, 1, 1], [64, 16, 16])
}

#[test]
fn k2_the_swizzle_is_its_formula() {
    let swizzle = Swizzle::new(3, 3, 3);
    assert_eq!(swizzle.to_string(), "Sw<3,3,3>");
    for x in 0..BLOCK * D {
        assert_eq!(swizzle.apply(x), x ^ ((x >> 6) % 8) << 3);
    }
}

#[test]
fn k2_the_offset_is_its_formula_and_a_bijection() {
    let tile = SmemTile::new(BLOCK, D);
    let mut offsets = BTreeSet::new();
    for m in 0..BLOCK {
        for d in 0..D {
            assert_eq!(tile.offset(m, d), 64 * m + (d ^ ((m % 8) << 3)));
            offsets.insert(tile.offset(m, d));
        }
    }
    assert!(offsets.into_iter().eq(0..BLOCK * D));
}

#[test]
fn k2_vectors_of_16_bytes_stay_whole() {
    let tile = SmemTile::new(BLOCK, D);
    for m in 0..BLOCK {
        for d in (0..D).step_by(8) {
            let first = tile.offset(m, d);
            assert_eq!(first % 8, 0);
            assert!((0..8).all(|v| tile.offset(m, d + v) == first + v));
        }
    }
}

#[test]
fn k2_ldmatrix_has_no_bank_conflict_with_the_swizzle() {
    for d in HEAD_DIMS {
        let tile = SmemTile::new(BLOCK, d);
        assert_eq!(ldmatrix_ways(tile, tile.swizzle()), [1, 1, 1], "D={d}");
    }
}

#[test]
fn k2_ldmatrix_conflicts_without_the_swizzle() {
    for (d, ways) in [(64, 8), (128, 8), (192, 8), (256, 8), (32, 4), (96, 4)] {
        let tile = SmemTile::new(BLOCK, d);
        assert_eq!(ldmatrix_ways(tile, Swizzle::IDENTITY), [ways; 3], "D={d}");
    }
}

#[test]
fn k2_cp_async_of_whole_rows_has_no_bank_conflict() {
    // As many lanes a row as it has 16-byte chunks: a phase of 8 lanes then writes 128 bytes that
    // follow each other, which is free of conflicts without the swizzle too.
    for d in HEAD_DIMS {
        let tile = SmemTile::new(BLOCK, d);
        let copy = copy_of_lanes(tile.atom_cols() / 8);
        assert_eq!(cp_async_ways(&copy, tile, tile.swizzle()), 1, "D={d}");
        assert_eq!(cp_async_ways(&copy, tile, Swizzle::IDENTITY), 1, "D={d}");
    }
}

#[test]
fn k1_four_lanes_a_row_are_a_2_way_conflict_on_128_byte_rows() {
    // A phase of 8 lanes writes half a row of an even row and of the next: rows r and r + 1 send
    // their chunks 0..4 to (0..4) ^ r and (0..4) ^ (r + 1), the same four. The swizzle neither
    // causes nor cures it.
    for d in [64, 128, 192, 256] {
        let tile = SmemTile::new(BLOCK, d);
        assert_eq!(
            cp_async_ways(&half_row_copy(), tile, tile.swizzle()),
            2,
            "D={d}"
        );
        assert_eq!(
            cp_async_ways(&half_row_copy(), tile, Swizzle::IDENTITY),
            2,
            "D={d}"
        );
    }
}

/// The worst bank conflict of `cp.async` into `tile` under `swizzle`, over all warps and repeats.
fn cp_async_ways(copy: &TiledCopy, tile: SmemTile, swizzle: Swizzle) -> usize {
    worst_ways(swizzle, |tid| {
        copy.partition_dst(&tile.layout().layout, tid).unwrap()
    })
}

/// The worst bank conflicts of `ldmatrix` for Q, K and V stored as `tile` under `swizzle`.
fn ldmatrix_ways(tile: SmemTile, swizzle: Swizzle) -> [usize; 3] {
    let stored = tile.layout().layout;
    let transposed = Layout::from_modes([stored.mode(1), stored.mode(0)]);
    let mma = narrow_mma();
    let q = TiledCopy::for_a(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    let k = TiledCopy::for_b(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    let v = TiledCopy::for_b(CopyAtom::ldmatrix_x4_trans(), &mma).unwrap();
    [(q, &stored), (k, &stored), (v, &transposed)]
        .map(|(copy, layout)| worst_ways(swizzle, |tid| copy.partition_src(layout, tid).unwrap()))
}

/// The worst conflict when each thread accesses its vectors of 8, one after the other, all warps in
/// turn.
fn worst_ways(swizzle: Swizzle, partition: impl Fn(usize) -> Partition) -> usize {
    let parts: Vec<Partition> = (0..THREADS).map(partition).collect();
    let vectors = parts[0].layout.size() / 8;
    let mut worst = 0;
    for warp in parts.chunks(32) {
        for vector in 0..vectors {
            let addresses = array::from_fn(|lane| {
                let element = |v| {
                    let part = &warp[lane];
                    swizzle.apply(part.offset + part.layout.nth(8 * vector + v))
                };
                // One access moves the vector only if the swizzle kept it whole.
                assert!((0..8).all(|v| element(v) == element(0) + v));
                ELEMENT * element(0)
            });
            worst = worst.max(conflict_ways(&addresses, AccessWidth::Bytes16).unwrap());
        }
    }
    worst
}
