//! Which lane holds which element: the ISA's tables for 16-bit matrices.
//!
//! A fragment's registers hold two elements each, low half first; `element` counts halves.

/// (row, column) in A, 16x16, of `element` (0 to 7) of `lane` for `mma.m16n8k16`.
#[must_use]
pub const fn mma_a(lane: usize, element: usize) -> (usize, usize) {
    let row = lane / 4 + 8 * (element / 2 % 2);
    let column = 2 * (lane % 4) + element % 2 + 8 * (element / 4);
    (row, column)
}

/// (row, column) in B, 16x8, of `element` (0 to 3) of `lane` for `mma.m16n8k16`.
#[must_use]
pub const fn mma_b(lane: usize, element: usize) -> (usize, usize) {
    let row = 2 * (lane % 4) + element % 2 + 8 * (element / 2);
    (row, lane / 4)
}

/// (row, column) in C and D, 16x8, of register `element` (0 to 3) of `lane` for `mma.m16n8k16`.
#[must_use]
pub const fn mma_c(lane: usize, element: usize) -> (usize, usize) {
    (lane / 4 + 8 * (element / 2), 2 * (lane % 4) + element % 2)
}

/// (row, column) in an 8x8 matrix of `half` (0 or 1) of `lane` after `ldmatrix`, or before
/// `stmatrix`.
#[must_use]
pub const fn matrix_8x8(lane: usize, half: usize, transposed: bool) -> (usize, usize) {
    let (row, column) = (lane / 4, 2 * (lane % 4) + half);
    if transposed {
        (column, row)
    } else {
        (row, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_element_has_one_place() {
        let places = |elements: usize, map: fn(usize, usize) -> (usize, usize)| {
            (0..32)
                .flat_map(|lane| (0..elements).map(move |element| map(lane, element)))
                .collect::<HashSet<_>>()
        };
        let matrix = |rows, columns| {
            (0..rows)
                .flat_map(|row| (0..columns).map(move |column| (row, column)))
                .collect::<HashSet<_>>()
        };
        assert_eq!(places(8, mma_a), matrix(16, 16));
        assert_eq!(places(4, mma_b), matrix(16, 8));
        assert_eq!(places(4, mma_c), matrix(16, 8));
        assert_eq!(places(2, |l, h| matrix_8x8(l, h, false)), matrix(8, 8));
        assert_eq!(places(2, |l, h| matrix_8x8(l, h, true)), matrix(8, 8));
    }

    /// Read off the ISA's figures.
    #[test]
    fn places_are_those_of_the_isa() {
        assert_eq!(
            [0, 1, 2, 3].map(|e| mma_a(5, e)),
            [(1, 2), (1, 3), (9, 2), (9, 3)]
        );
        assert_eq!(
            [4, 5, 6, 7].map(|e| mma_a(5, e)),
            [(1, 10), (1, 11), (9, 10), (9, 11)]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|e| mma_b(31, e)),
            [(6, 7), (7, 7), (14, 7), (15, 7)]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|e| mma_c(6, e)),
            [(1, 4), (1, 5), (9, 4), (9, 5)]
        );
        assert_eq!(matrix_8x8(6, 1, false), (1, 5));
        assert_eq!(matrix_8x8(6, 1, true), (5, 1));
    }
}
