//! K1 and K3 to K5: how tiles travel to shared memory, and from there to the registers of the MMA.

use std::collections::BTreeSet;

use cute_layout::{CopyAtom, Layout, Partition, TiledCopy, owners_per_element};

use crate::{
    BLOCK, D, THREADS, article_mma, coordinate, copy_of_lanes, half_row_copy, identity, wgq,
};

#[test]
fn k1_four_lanes_a_row_copy_the_tile() {
    let copy = half_row_copy();
    assert_eq!((copy.tile(), copy.threads()), ([32, 32], THREADS));
    assert_copies(&copy, |tid, rho_m, rho_d, v| {
        let (r, s) = (tid / 4, tid % 4);
        (r + 32 * rho_m, 8 * s + v + 32 * rho_d)
    });
}

#[test]
fn k1_eight_lanes_a_row_copy_the_tile() {
    let copy = copy_of_lanes(8);
    assert_eq!((copy.tile(), copy.threads()), ([16, 64], THREADS));
    assert_copies(&copy, |tid, rho_m, _, v| {
        let (r, s) = (tid / 8, tid % 8);
        (r + 16 * rho_m, 8 * s + v)
    });
}

/// Asserts that `copy` gives each thread 4 vectors of 8, at the coordinates of `formula(tid, rho_m,
/// rho_d, v)`, and covers the 64 x 64 tile once.
fn assert_copies(copy: &TiledCopy, formula: impl Fn(usize, usize, usize, usize) -> (usize, usize)) {
    let parts: Vec<Partition> = (0..THREADS)
        .map(|tid| copy.partition_src(&identity(), tid).unwrap())
        .collect();
    for (tid, part) in parts.iter().enumerate() {
        let sizes = part.layout.mode_sizes();
        assert_eq!((sizes[0], sizes[1] * sizes[2]), (8, 4));
        for rho_m in 0..sizes[1] {
            for rho_d in 0..sizes[2] {
                for v in 0..8 {
                    let owned = coordinate(part.at((v, rho_m, rho_d)));
                    assert_eq!(owned, formula(tid, rho_m, rho_d, v));
                }
            }
        }
        assert_eq!(*part, copy.partition_dst(&identity(), tid).unwrap());
    }
    let vectors: usize = parts.iter().map(|part| part.layout.size() / 8).sum();
    assert_eq!(vectors, 512);
    assert!(
        owners_per_element(BLOCK * D, &parts)
            .into_iter()
            .all(|owners| owners == 1)
    );
}

#[test]
fn k3_the_transpose_of_v_is_another_view_of_its_addresses() {
    let v = Layout::new((BLOCK, D), (D, 1));
    let vt = Layout::new((D, BLOCK), (1, D));
    for n in 0..BLOCK {
        for d in 0..D {
            assert_eq!(vt.at((d, n)), d + n * D);
            assert_eq!(vt.at((d, n)), v.at((n, d)));
        }
    }
}

#[test]
fn k3_the_column_copy_is_the_row_copy_seen_from_v_transposed() {
    // Threads (4, 32):(1, 4) with values along d, the first mode.
    let copy = TiledCopy::new(
        CopyAtom::cp_async_16(),
        &Layout::new((4, 32), (1, 4)),
        &Layout::compact((8, 1)),
    )
    .unwrap();
    for tid in 0..THREADS {
        let (r, s) = (tid / 4, tid % 4);
        let part = copy.partition_src(&identity(), tid).unwrap();
        for v in 0..8 {
            for rho_d in 0..2 {
                for rho_n in 0..2 {
                    let (d, n) = coordinate(part.at((v, rho_d, rho_n)));
                    assert_eq!((d, n), (8 * s + v + 32 * rho_d, r + 32 * rho_n));
                }
            }
        }
    }
}

#[test]
fn k3_transposing_ldmatrix_delivers_v_as_operand_b() {
    // Who receives an element of a matrix, by the PTX ISA: register i of lane 4g + q gets rows 2q,
    // 2q + 1 of column g of matrix i, whose rows lanes 8i..8i + 8 name.
    let copy = TiledCopy::for_b(CopyAtom::ldmatrix_x4_trans(), &article_mma()).unwrap();
    let svt = Layout::new((D, BLOCK), (1, D));
    let named: Vec<Partition> = (0..32)
        .map(|lane| copy.partition_src(&svt, lane).unwrap())
        .collect();
    for lane in 0..32 {
        let (_, g, q) = wgq(lane);
        let fragment = article_mma().partition_b(&identity(), lane).unwrap();
        let registers = copy.retile_dst(&fragment, D, BLOCK, lane).unwrap();
        for value in 0..registers.size() {
            let (instruction, i, half) = (value / 8, value % 8 / 2, value % 2);
            let row = &named[8 * i + 2 * q + half];
            let address = row.offset + row.layout.nth(8 * instruction) + g;

            let register = registers.nth(value);
            let (b0, b1) = (register % 2, register / 2 % 2);
            let (nu, kappa) = (register / 4 % 8, register / 32);
            let d = 8 * nu + g;
            let n = 16 * kappa + 2 * q + b0 + 8 * b1;
            assert_eq!(address, d + n * D);
        }
    }
}

#[test]
fn k4_ldmatrix_counts_per_warp_and_tile() {
    let mma = article_mma();
    let per_warp = |copy: &TiledCopy| {
        let part = copy.partition_dst(&identity(), 0).unwrap();
        part.layout.size() / copy.atom().values()
    };
    let plain = CopyAtom::ldmatrix_x4();
    let q = TiledCopy::for_a(plain.clone(), &mma).unwrap();
    let k = TiledCopy::for_b(plain, &mma).unwrap();
    let v = TiledCopy::for_b(CopyAtom::ldmatrix_x4_trans(), &mma).unwrap();
    assert_eq!((per_warp(&q), per_warp(&k), per_warp(&v)), (4, 16, 16));
}

#[test]
fn k4_k_and_v_reach_registers_four_times_and_q_once() {
    let mma = article_mma();
    let owners = |copy: &TiledCopy| {
        let parts: Vec<Partition> = (0..THREADS)
            .map(|tid| copy.partition_dst(&identity(), tid).unwrap())
            .collect();
        let owners: BTreeSet<usize> = owners_per_element(64 * 64, &parts).into_iter().collect();
        owners.into_iter().collect::<Vec<_>>()
    };
    let q = TiledCopy::for_a(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    let k = TiledCopy::for_b(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    let v = TiledCopy::for_b(CopyAtom::ldmatrix_x4_trans(), &mma).unwrap();
    assert_eq!([owners(&q), owners(&k), owners(&v)], [[1], [4], [4]]);
}

#[test]
fn k5_retiling_keeps_registers_and_coordinates() {
    let mma = article_mma();
    let a = TiledCopy::for_a(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    let b = TiledCopy::for_b(CopyAtom::ldmatrix_x4(), &mma).unwrap();
    for tid in 0..THREADS {
        for (copy, fragment) in [
            (&a, mma.partition_a(&identity(), tid).unwrap()),
            (&b, mma.partition_b(&identity(), tid).unwrap()),
        ] {
            let view = copy.retile_dst(&fragment, 64, 64, tid).unwrap();
            let copied = copy.partition_dst(&identity(), tid).unwrap();
            let registers: BTreeSet<usize> = view.indices().collect();
            // No register more or less, and each holds the element that the copy writes there.
            assert!(registers.into_iter().eq(0..fragment.layout.size()));
            for value in 0..view.size() {
                assert_eq!(
                    fragment.offset + fragment.layout.nth(view.nth(value)),
                    copied.offset + copied.layout.nth(value)
                );
            }
        }
    }
}
