//! The products: who holds which element of their operands and sums, and in which register.

use cute_layout::{Layout, LayoutError, MmaAtom, TiledMma, c_to_a};

use crate::digit::{Digit, axes, digits};
use crate::map::{Owners, Registers};
use crate::sizes::Sizes;

/// A lane in the fragments of m16n8k16.
pub(crate) const LANE: [(&str, usize); 2] = [("q", 4), ("g", 8)];

/// The multiply atom over the warps along M; copies to fragments move 16 rows or columns at once,
/// which is one ldmatrix.x4.
pub(crate) fn mma(sizes: &Sizes) -> TiledMma {
    let warps = sizes.warps();
    TiledMma::new(MmaAtom::m16n8k16(), [warps, 1, 1], [16 * warps, 16, 16])
}

/// Q, `(m, d)`, as operand A.
pub(crate) fn q(sizes: &Sizes) -> Result<Owners, LayoutError> {
    let (m, d) = (sizes.block_m(), sizes.head_dim());
    Ok(Owners {
        tile: axes(["m", "d"], [m, d]),
        layout: mma(sizes).owners_a(&Layout::compact((m, d)))?,
        threads: threads(sizes),
        values: a_values(sizes, d),
    })
}

/// K, `(n, d)`, as operand B.
pub(crate) fn k(sizes: &Sizes) -> Result<Owners, LayoutError> {
    let (n, d) = (sizes.block_n(), sizes.head_dim());
    Ok(Owners {
        tile: axes(["n", "d"], [n, d]),
        layout: mma(sizes).owners_b(&Layout::compact((n, d)))?,
        threads: threads(sizes),
        values: b_values(sizes),
    })
}

/// S, `(m, n)`, as the sum C.
pub(crate) fn s(sizes: &Sizes) -> Result<Owners, LayoutError> {
    let (m, n) = (sizes.block_m(), sizes.block_n());
    Ok(Owners {
        tile: axes(["m", "n"], [m, n]),
        layout: mma(sizes).owners_c(&Layout::compact((m, n)))?,
        threads: threads(sizes),
        values: c_values(sizes),
    })
}

/// The registers of Q as operand A.
pub(crate) fn q_registers(sizes: &Sizes) -> Result<Registers, LayoutError> {
    let (m, d) = (sizes.block_m(), sizes.head_dim());
    Ok(Registers {
        layout: mma(sizes).fragment_a(m, d)?,
        values: a_values(sizes, d),
    })
}

/// The registers of K as operand B.
pub(crate) fn k_registers(sizes: &Sizes) -> Result<Registers, LayoutError> {
    let (n, d) = (sizes.block_n(), sizes.head_dim());
    Ok(Registers {
        layout: mma(sizes).fragment_b(n, d)?,
        values: b_values(sizes),
    })
}

/// The registers of S as the sum C.
pub(crate) fn s_registers(sizes: &Sizes) -> Result<Registers, LayoutError> {
    let (m, n) = (sizes.block_m(), sizes.block_n());
    Ok(Registers {
        layout: mma(sizes).fragment_c(m, n)?,
        values: c_values(sizes),
    })
}

/// P as operand A, found in the registers of S.
pub(crate) fn p_registers(sizes: &Sizes) -> Result<Registers, LayoutError> {
    let (m, n) = (sizes.block_m(), sizes.block_n());
    Ok(Registers {
        layout: c_to_a(&mma(sizes), m, n)?,
        values: a_values(sizes, n),
    })
}

pub(crate) fn threads(sizes: &Sizes) -> Vec<Digit> {
    digits(LANE.into_iter().chain([("w", sizes.warps())]))
}

/// Values of operand A over `depth` columns.
pub(crate) fn a_values(sizes: &Sizes, depth: usize) -> Vec<Digit> {
    let (rm, kappa) = (("rm", sizes.m_tiles()), ("kappa", depth / 16));
    digits([("a0", 2), ("a1", 2), ("a2", 2), rm, kappa])
}

/// Values of K as operand B.
fn b_values(sizes: &Sizes) -> Vec<Digit> {
    let (n, d) = (sizes.block_n(), sizes.head_dim());
    digits([("b0", 2), ("b1", 2), ("nu", n / 8), ("kappa", d / 16)])
}

/// Values of S.
fn c_values(sizes: &Sizes) -> Vec<Digit> {
    let (rm, nu) = (("rm", sizes.m_tiles()), ("nu", sizes.block_n() / 8));
    digits([("c0", 2), ("c1", 2), rm, nu])
}
