//! Which matrix element each lane holds: the ISA's fragment tables as functions.

#[cfg(test)]
mod tests;

/// A row and a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// From the top.
    pub row: usize,
    /// From the left.
    pub column: usize,
}

/// Lanes that share a row of C.
const GROUP: usize = 4;

/// Element `element` (0..8) of A (16x16) that `lane` holds for `mma.m16n8k16`; elements `2 i` and
/// `2 i + 1` are the low and high half of register `i`.
pub const fn mma_a(lane: usize, element: usize) -> Place {
    let row = lane / GROUP + 8 * (element / 2 % 2);
    let column = lane % GROUP * 2 + element % 2 + 8 * (element / 4);
    Place { row, column }
}

/// Element `element` (0..4) of B (16x8, row is k) that `lane` holds for `mma.m16n8k16`; elements
/// `2 i` and `2 i + 1` are the low and high half of register `i`.
pub const fn mma_b(lane: usize, element: usize) -> Place {
    let row = lane % GROUP * 2 + element % 2 + 8 * (element / 2);
    Place {
        row,
        column: lane / GROUP,
    }
}

/// Element `element` (0..4) of C or D (16x8) that `lane` holds for `mma.m16n8k16`: one register an
/// element.
pub const fn mma_c(lane: usize, element: usize) -> Place {
    let row = lane / GROUP + 8 * (element / 2);
    Place {
        row,
        column: lane % GROUP * 2 + element % 2,
    }
}

/// Half `half` (0 low, 1 high) of the register that `lane` has of one 8x8 matrix, for `ldmatrix`
/// and `stmatrix`: its place in the matrix whose rows are the rows in memory.
pub const fn matrix_half(lane: usize, half: usize, transposed: bool) -> Place {
    let (slow, fast) = (lane / GROUP, lane % GROUP * 2 + half);
    if transposed {
        Place {
            row: fast,
            column: slow,
        }
    } else {
        Place {
            row: slow,
            column: fast,
        }
    }
}

/// The lane whose address is row `row` (0..8) of matrix `matrix` (0..4), for `ldmatrix` and
/// `stmatrix`.
pub const fn row_lane(matrix: usize, row: usize) -> usize {
    matrix * 8 + row
}
