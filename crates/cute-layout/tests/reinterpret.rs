//! The C fragment of S read as the A fragment of P, and as a matrix of rows and columns.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cute_layout::{Layout, LayoutError, MmaAtom, TiledMma, c_to_a, row_col_view};

fn mma(warps: [usize; 3]) -> TiledMma {
    let [m, n, k] = warps;
    TiledMma::new(MmaAtom::m16n8k16(), warps, [16 * m, 16 * n, 16 * k])
}

#[test]
fn the_view_keeps_the_coordinates_of_every_thread_and_value() {
    for (warps, m, n) in [
        (4, 64, 64),
        (4, 128, 32),
        (4, 128, 128),
        (8, 128, 96),
        (1, 16, 16),
    ] {
        let mma = mma([warps, 1, 1]);
        let view = c_to_a(&mma, m, n).unwrap();
        let scores = Layout::compact((m, n));
        for thread in 0..mma.threads() {
            let as_c = mma.partition_c(&scores, thread).unwrap();
            let as_a = mma.partition_a(&scores, thread).unwrap();
            for i in 0..view.size() {
                assert_eq!(
                    as_c.offset + as_c.layout.nth(view.nth(i)),
                    as_a.offset + as_a.layout.nth(i),
                    "{warps} warps, {m} x {n}, thread {thread}, value {i}"
                );
            }
        }
    }
}

#[test]
fn the_view_names_every_register_once() {
    let view = c_to_a(&mma([4, 1, 1]), 128, 64).unwrap();
    let mut registers: Vec<usize> = view.indices().collect();
    registers.sort_unstable();
    assert!(registers.into_iter().eq(0..view.size()));
}

#[test]
fn warps_along_n_leave_the_elements_with_other_threads() {
    // The A operand of a warp needs all of its row; with two warps along N it computed half.
    let error = c_to_a(&mma([2, 2, 1]), 64, 64).unwrap_err();
    assert!(
        matches!(error, LayoutError::DifferentOwner { .. }),
        "{error}"
    );
}

#[test]
fn a_row_of_the_view_is_a_row_of_scores() {
    for (m, n) in [(64, 64), (128, 64), (64, 128)] {
        let mma = mma([4, 1, 1]);
        let view = row_col_view(&mma.fragment_c(m, n).unwrap()).unwrap();
        let scores = Layout::compact((m, n));
        for thread in 0..mma.threads() {
            let part = mma.partition_c(&scores, thread).unwrap();
            for row in 0..view.mode(0).size() {
                let row_of = |col| {
                    let register = view.at((row, col));
                    (part.offset + part.layout.nth(register)) % m
                };
                assert!((0..view.mode(1).size()).all(|col| row_of(col) == row_of(0)));
            }
        }
    }
}

#[test]
fn only_a_fragment_with_a_bit_for_each_axis_has_rows_and_columns() {
    for layout in [
        Layout::compact((4, 1, 8)),
        Layout::compact(((4, 2), 1, 8)),
        Layout::compact(((2, 2, (2, 2)), 1, 8)),
        Layout::compact(((2, 2), 8)),
    ] {
        let error = row_col_view(&layout).unwrap_err();
        assert!(matches!(error, LayoutError::NotAccumulator { .. }));
    }
}
