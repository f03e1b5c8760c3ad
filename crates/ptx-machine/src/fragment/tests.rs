//! The tables against the ISA's figures.

use std::collections::HashSet;

use super::{Place, matrix_half, mma_a, mma_b, mma_c, row_lane};

const fn at(row: usize, column: usize) -> Place {
    Place { row, column }
}

#[test]
fn corners_are_those_of_the_figures() {
    // a0 and a1 of T0; a2 and a3 are eight rows below, a4 and a5 eight columns on, a6 and a7 both.
    let expected = [
        (0, 0),
        (0, 1),
        (8, 0),
        (8, 1),
        (0, 8),
        (0, 9),
        (8, 8),
        (8, 9),
    ];
    for (element, (row, column)) in expected.into_iter().enumerate() {
        assert_eq!(mma_a(0, element), at(row, column));
        assert_eq!(mma_a(31, element), at(row + 7, column + 6));
    }
    for (element, row) in [0, 1, 8, 9].into_iter().enumerate() {
        assert_eq!(mma_b(0, element), at(row, 0));
        assert_eq!(mma_b(5, element), at(row + 2, 1));
        assert_eq!(mma_b(31, element), at(row + 6, 7));
    }
    for (element, (row, column)) in [(0, 0), (0, 1), (8, 0), (8, 1)].into_iter().enumerate() {
        assert_eq!(mma_c(0, element), at(row, column));
        assert_eq!(mma_c(31, element), at(row + 7, column + 6));
    }
    assert_eq!(matrix_half(5, 1, false), at(1, 3));
    assert_eq!(matrix_half(5, 1, true), at(3, 1));
    assert_eq!(row_lane(3, 7), 31);
}

#[test]
fn every_element_is_held_once() {
    let held = |elements: usize, table: &dyn Fn(usize, usize) -> Place| {
        let all = (0..32).flat_map(|lane| (0..elements).map(move |element| (lane, element)));
        all.map(|(lane, element)| table(lane, element))
            .collect::<HashSet<_>>()
    };
    let whole = |rows: usize, columns: usize| {
        (0..rows)
            .flat_map(|row| (0..columns).map(move |column| at(row, column)))
            .collect()
    };
    assert_eq!(held(8, &mma_a), whole(16, 16));
    assert_eq!(held(4, &mma_b), whole(16, 8));
    assert_eq!(held(4, &mma_c), whole(16, 8));
    assert_eq!(
        held(2, &|lane, half| matrix_half(lane, half, false)),
        whole(8, 8)
    );
    assert_eq!(
        held(2, &|lane, half| matrix_half(lane, half, true)),
        whole(8, 8)
    );
}

#[test]
fn ldmatrix_gives_the_fragments_of_mma() {
    for lane in 0..32 {
        for half in 0..2 {
            // Matrices 0 to 3 of `ldmatrix.x4` are the quadrants of A, downwards first.
            for matrix in 0..4 {
                let Place { row, column } = matrix_half(lane, half, false);
                let whole = at(row + 8 * (matrix % 2), column + 8 * (matrix / 2));
                assert_eq!(mma_a(lane, 2 * matrix + half), whole);
            }
            // B in row-major memory needs `.trans`.
            for matrix in 0..2 {
                let Place { row, column } = matrix_half(lane, half, true);
                assert_eq!(mma_b(lane, 2 * matrix + half), at(row + 8 * matrix, column));
            }
        }
    }
}
