//! The copies: who moves which element on each edge between memories.

use cute_layout::{CopyAtom, Layout, LayoutError, TiledCopy};

use crate::digit::{Digit, axes, digits};
use crate::map::Owners;
use crate::products::{self, LANE};
use crate::sizes::{CHUNK, Sizes};

/// The side of an ldmatrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Shared memory: the elements whose address a lane gives.
    Addresses,
    /// Registers: the elements that a lane gets.
    Registers,
}

/// A tile `(m, d)`, some lanes a row, row by row.
pub(crate) fn rows(atom: CopyAtom, sizes: &Sizes) -> Result<Owners, LayoutError> {
    let (m, d) = (sizes.block_m(), sizes.head_dim());
    let (lanes, rows) = (sizes.lanes_per_row(), sizes.rows_per_pass());
    let threads = Layout::compact_row((rows, lanes));
    let copy = TiledCopy::new(atom, &threads, &Layout::compact_row((1, CHUNK)))?;
    Ok(Owners {
        tile: axes(["m", "d"], [m, d]),
        layout: copy.owners_src(&Layout::compact((m, d)))?,
        threads: digits([("s", lanes), ("r", rows)]),
        values: digits([("e", CHUNK), ("rm", m / rows), ("rd", d / (CHUNK * lanes))]),
    })
}

/// A tile `(d, n)`: the copy by rows with the modes of threads and values exchanged.
pub(crate) fn columns(atom: CopyAtom, sizes: &Sizes) -> Result<Owners, LayoutError> {
    let (n, d) = (sizes.block_n(), sizes.head_dim());
    let (lanes, rows) = (sizes.lanes_per_row(), sizes.rows_per_pass());
    let threads = Layout::compact((lanes, rows));
    let copy = TiledCopy::new(atom, &threads, &Layout::compact((CHUNK, 1)))?;
    Ok(Owners {
        tile: axes(["d", "n"], [d, n]),
        layout: copy.owners_src(&Layout::compact((d, n)))?,
        threads: digits([("s", lanes), ("r", rows)]),
        values: digits([("e", CHUNK), ("rd", d / (CHUNK * lanes)), ("rn", n / rows)]),
    })
}

/// Q, `(m, d)`, to operand A.
pub(crate) fn q(sizes: &Sizes, side: Side) -> Result<Owners, LayoutError> {
    let (m, d) = (sizes.block_m(), sizes.head_dim());
    let copy = TiledCopy::for_a(CopyAtom::ldmatrix_x4(), &products::mma(sizes))?;
    let tile = Layout::compact((m, d));
    let repeats = [("rm", sizes.m_tiles()), ("kappa", d / 16)];
    Ok(Owners {
        tile: axes(["m", "d"], [m, d]),
        layout: of_side(&copy, &tile, side)?,
        threads: lane_digits(sizes, side),
        values: value_digits(side, [("a0", 2), ("a1", 2), ("a2", 2)], repeats),
    })
}

/// K, `(n, d)`, to operand B.
pub(crate) fn k(sizes: &Sizes, side: Side) -> Result<Owners, LayoutError> {
    let atom = CopyAtom::ldmatrix_x4();
    let extents = [sizes.block_n(), sizes.head_dim()];
    operand_b(atom, ["n", "d"], extents, sizes, side)
}

/// V seen as `(d, n)`, to operand B, transposed on its way.
pub(crate) fn vt(sizes: &Sizes, side: Side) -> Result<Owners, LayoutError> {
    let atom = CopyAtom::ldmatrix_x4_trans();
    let extents = [sizes.head_dim(), sizes.block_n()];
    operand_b(atom, ["d", "n"], extents, sizes, side)
}

/// One ldmatrix.x4 fills operand B of two instructions that are neighbours along its rows.
fn operand_b(
    atom: CopyAtom,
    names: [&'static str; 2],
    extents: [usize; 2],
    sizes: &Sizes,
    side: Side,
) -> Result<Owners, LayoutError> {
    let copy = TiledCopy::for_b(atom, &products::mma(sizes))?;
    let tile = Layout::compact((extents[0], extents[1]));
    let repeats = [("p", extents[0] / 16), ("kappa", extents[1] / 16)];
    Ok(Owners {
        tile: axes(names, extents),
        layout: of_side(&copy, &tile, side)?,
        threads: lane_digits(sizes, side),
        values: value_digits(side, [("b0", 2), ("b1", 2), ("o", 2)], repeats),
    })
}

/// O, `(m, d)`, from the sum C to shared memory, a pair of neighbours a store.
pub(crate) fn o(sizes: &Sizes) -> Result<Owners, LayoutError> {
    let (m, d) = (sizes.block_m(), sizes.head_dim());
    let copy = TiledCopy::for_c(CopyAtom::vector_4(), &products::mma(sizes))?;
    Ok(Owners {
        tile: axes(["m", "d"], [m, d]),
        layout: copy.owners_dst(&Layout::compact((m, d)))?,
        threads: lane_digits(sizes, Side::Registers),
        values: digits([
            ("c0", 2),
            ("c1", 2),
            ("o", 2),
            ("rm", sizes.m_tiles()),
            ("p", d / 16),
        ]),
    })
}

fn of_side(copy: &TiledCopy, tile: &Layout, side: Side) -> Result<Layout, LayoutError> {
    match side {
        Side::Addresses => copy.owners_src(tile),
        Side::Registers => copy.owners_dst(tile),
    }
}

fn lane_digits(sizes: &Sizes, side: Side) -> Vec<Digit> {
    let warp = ("w", sizes.warps());
    match side {
        Side::Addresses => digits([("i", 8), ("x0", 2), ("x1", 2), warp]),
        Side::Registers => digits([LANE[0], LANE[1], warp]),
    }
}

/// The elements of one ldmatrix, then its repeats.
fn value_digits(
    side: Side,
    registers: [(&'static str, usize); 3],
    repeats: [(&'static str, usize); 2],
) -> Vec<Digit> {
    match side {
        Side::Addresses => digits([("e", CHUNK), repeats[0], repeats[1]]),
        Side::Registers => digits(registers.into_iter().chain(repeats)),
    }
}
