//! A warpgroup's registers: the same as four warps of m16n8k16, and the C fragment read as A.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cute_layout::{Layout, MmaAtom, TiledMma, c_to_a, row_col_view};

/// Instructions of `64 x n`, on this many warpgroups along M.
fn wgmma(warpgroups: usize, n: usize) -> TiledMma {
    let tile = [64 * warpgroups, n, 16];
    TiledMma::new(MmaAtom::wgmma_rs(n), [warpgroups, 1, 1], tile)
}

/// As many warps of m16n8k16 along M.
fn warps(warpgroups: usize) -> TiledMma {
    let warps = 4 * warpgroups;
    TiledMma::new(MmaAtom::m16n8k16(), [warps, 1, 1], [16 * warps, 8, 16])
}

#[test]
fn a_warpgroup_holds_what_four_warps_of_m16n8k16_hold() {
    for (warpgroups, n) in [(1, 8), (1, 64), (2, 80), (2, 128), (3, 176), (1, 256)] {
        let m = 64 * warpgroups;
        let scores = Layout::compact((m, n));
        let (ours, theirs) = (wgmma(warpgroups, n), warps(warpgroups));
        let (c, c_of_warps) = (ours.owners_c(&scores), theirs.owners_c(&scores));
        assert!(c.unwrap().indices().eq(c_of_warps.unwrap().indices()));
        let q = Layout::compact((m, 64));
        let (a, a_of_warps) = (ours.owners_a(&q), theirs.owners_a(&q));
        assert!(a.unwrap().indices().eq(a_of_warps.unwrap().indices()));
    }
}

#[test]
fn p_is_operand_a_in_the_registers_of_s() {
    for warpgroups in 1..=3 {
        for n in (16..=256).step_by(16) {
            let mma = wgmma(warpgroups, n);
            let view = c_to_a(&mma, 64 * warpgroups, n).unwrap();
            let registers = view.indices();
            assert!(registers.eq(0..n / 2), "{view} moves a register at N = {n}");

            let scores = Layout::compact((64 * warpgroups, n));
            for thread in 0..mma.threads() {
                let as_c = mma.partition_c(&scores, thread).unwrap();
                let as_a = mma.partition_a(&scores, thread).unwrap();
                assert!(
                    as_c.indices().eq(as_a.indices()),
                    "thread {thread}, N = {n}"
                );
            }
        }
    }
}

#[test]
fn the_view_of_a_wgmma_is_that_of_m16n8k16() {
    for n in [64, 128, 176] {
        let views = [c_to_a(&wgmma(2, n), 128, n), c_to_a(&warps(2), 128, n)];
        let [ours, theirs] = views.map(Result::unwrap);
        assert_eq!(ours, theirs);
    }
}

#[test]
fn a_product_is_one_instruction_wide_and_one_for_every_16_deep() {
    // O = P V with 128 columns of V, P of 64 x 80: five steps of depth.
    let mma = wgmma(1, 128);
    assert_eq!(mma.fragment_a(64, 80).unwrap().mode_sizes(), [8, 1, 5]);
    assert_eq!(
        mma.fragment_c(64, 128).unwrap().to_string(),
        "((_2,_2,_16),_1,_1):((_1,_2,_4),_0,_0)"
    );
}

#[test]
fn a_row_of_the_view_is_a_row_of_scores() {
    for (warpgroups, n) in [(1, 8), (1, 128), (2, 176)] {
        let mma = wgmma(warpgroups, n);
        let m = 64 * warpgroups;
        let view = row_col_view(&mma.fragment_c(m, n).unwrap()).unwrap();
        assert_eq!(view.mode_sizes(), [2, n / 4]);
        let scores = Layout::compact((m, n));
        for thread in 0..mma.threads() {
            let part = mma.partition_c(&scores, thread).unwrap();
            let element = |row, col| part.offset + part.layout.nth(view.at((row, col)));
            for row in 0..2 {
                let first = element(row, 0);
                assert!((0..n / 4).all(|col| element(row, col) % m == first % m));
                // In order, so that a column's mask is a comparison with its neighbour's plus 1 or 7.
                assert!((1..n / 4).all(|col| element(row, col - 1) < element(row, col)));
            }
        }
    }
}

#[test]
fn every_warpgroup_reads_operand_b_whole() {
    let mma = wgmma(2, 128);
    let keys = Layout::compact((128, 64));
    let all = |thread| -> Vec<usize> {
        let part = mma.partition_b(&keys, thread).unwrap();
        part.indices().collect()
    };
    let first = all(0);
    assert!(first.iter().copied().eq(0..128 * 64));
    assert!(
        [1, 127, 128, 255]
            .into_iter()
            .all(|thread| all(thread) == first)
    );
}
