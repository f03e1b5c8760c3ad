//! The products with wgmma: who holds S and P, and where the operands in shared memory start.

use cute_layout::{GmmaOperand, Layout, LayoutError, Major, MmaAtom, SmemTile, TiledMma, c_to_a};

use crate::descriptors::Descriptors;
use crate::digit::{Digit, axes, digits};
use crate::map::{Owners, Registers};
use crate::products::{a_values, threads};
use crate::sizes::{MMA, Sizes, WARPGROUP};

/// Rows of a wgmma.
const ROWS: usize = MMA * WARPGROUP;

/// The instruction as wide as a step, over the warpgroups along M.
fn mma(sizes: &Sizes) -> TiledMma {
    let (warpgroups, n) = (sizes.warps() / WARPGROUP, sizes.block_n());
    let tile = [ROWS * warpgroups, n, MMA];
    TiledMma::new(MmaAtom::wgmma_rs(n), [warpgroups, 1, 1], tile)
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

/// P, `(m, n)`, as operand A in registers.
pub(crate) fn p(sizes: &Sizes) -> Result<Owners, LayoutError> {
    let (m, n) = (sizes.block_m(), sizes.block_n());
    Ok(Owners {
        tile: axes(["m", "n"], [m, n]),
        layout: mma(sizes).owners_a(&Layout::compact((m, n)))?,
        threads: threads(sizes),
        values: a_values(sizes, n),
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

/// Q, `(m, d)`, as operand A in shared memory.
pub(crate) fn q(sizes: &Sizes) -> Result<Descriptors, LayoutError> {
    descriptors(["m", "d"], sizes.q_tile(), Major::K, ROWS)
}

/// K, `(n, d)`, as operand B.
pub(crate) fn k(sizes: &Sizes) -> Result<Descriptors, LayoutError> {
    descriptors(["n", "d"], sizes.kv_tile(), Major::K, sizes.block_n())
}

/// V seen as `(d, n)`, as operand B.
pub(crate) fn vt(sizes: &Sizes) -> Result<Descriptors, LayoutError> {
    descriptors(["d", "n"], sizes.kv_tile(), Major::Mn, sizes.head_dim())
}

fn descriptors(
    names: [&'static str; 2],
    tile: SmemTile,
    major: Major,
    rows: usize,
) -> Result<Descriptors, LayoutError> {
    Descriptors::new(names, GmmaOperand::new(tile, major), [rows, MMA])
}

/// Values of S: all columns of an instruction before its repeats.
fn c_values(sizes: &Sizes) -> Vec<Digit> {
    let (nu, rm) = (("nu", sizes.block_n() / 8), ("rm", sizes.m_tiles()));
    digits([("c0", 2), ("c1", 2), nu, rm])
}
