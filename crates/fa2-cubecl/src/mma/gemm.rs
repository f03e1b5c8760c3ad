//! The products: with both operands from shared memory, as S = Q K^T, and with A from registers, as
//! O += P V.

use crate::config::MMA_K;
use crate::copy::s2r::S2r;
use crate::mma::accumulator::{Accumulator, AccumulatorLayout};
use crate::mma::atom::{Registers2, Registers4, multiply_add, round_pair};
use crate::problem::Dtype;
use cubecl::prelude::*;
use cute_layout::{Layout, MmaAtom, TiledMma, c_to_a};

/// `acc += A B`, both from shared memory.
#[cube]
pub(crate) fn gemm_ss(acc: &mut Accumulator, a: &S2r, b: &S2r, #[comptime] dtype: Dtype) {
    let layout = comptime!(acc.layout);
    let n_pairs = comptime!(layout.n_tiles / 2);
    let a_addresses = a.step_addresses();
    let b_addresses = b.step_addresses();
    #[unroll]
    for step in 0..comptime!(a.operand.k_steps(&a.tile)) {
        let mut ts_ra = Sequence::<Registers4>::new(); // (MMA, MMA_M) of this k step
        #[unroll]
        for m in 0..comptime!(layout.m_tiles) {
            ts_ra.push(a.load(&a_addresses, comptime!(layout.row_tile(m)), step));
        }
        #[unroll]
        for pair in 0..n_pairs {
            let ts_rb = b.load(&b_addresses, comptime!(layout.column_tile(pair)), step);
            multiply_pair(acc, &ts_ra, &ts_rb, pair, dtype);
        }
    }
}

/// `acc_o += P V`; `acc_p` holds P where the scores were.
///
/// P's A fragment is its C fragment under another layout, `c_to_a`: the rounding to 16 bits is the
/// only work on the way (claim L8).
#[cube]
pub(crate) fn gemm_rs(
    acc_o: &mut Accumulator,
    acc_p: &Accumulator,
    v: &S2r,
    #[comptime] dtype: Dtype,
) {
    let layout = comptime!(acc_o.layout);
    let n_pairs = comptime!(layout.n_tiles / 2);
    let a_view = comptime!(p_view(&acc_p.layout));
    let v_addresses = v.step_addresses();
    #[unroll]
    for step in 0..comptime!(acc_p.layout.n_tiles / 2) {
        let mut to_rp = Sequence::<Registers4>::new(); // (MMA, MMA_M) of this k step
        #[unroll]
        for m in 0..comptime!(layout.m_tiles) {
            to_rp.push(a_fragment(acc_p, a_view.clone(), m, step, dtype));
        }
        #[unroll]
        for pair in 0..n_pairs {
            let to_rv = v.load(&v_addresses, comptime!(layout.column_tile(pair)), step);
            multiply_pair(acc_o, &to_rp, &to_rv, pair, dtype);
        }
    }
}

/// Adds the products of all A fragments of a k step and the two atoms along N that `b` holds.
///
/// One ldmatrix.x4 brings the operands of both atoms, each in two neighbouring results; other
/// orders cost a move per register.
#[cube]
fn multiply_pair(
    acc: &mut Accumulator,
    a: &Sequence<Registers4>,
    b: &Registers4,
    #[comptime] pair: usize,
    #[comptime] dtype: Dtype,
) {
    let even = Registers2 { x: b.x, y: b.y };
    let odd = Registers2 { x: b.z, y: b.w };
    #[unroll]
    for m in 0..comptime!(acc.layout.m_tiles) {
        let a = a.index(m);
        multiply_add(acc, a, &even, m, comptime!(2 * pair), dtype);
        multiply_add(acc, a, &odd, m, comptime!(2 * pair + 1), dtype);
    }
}

/// From (a0, a1, a2), m, step of P's A fragment to the register of its C fragment.
///
/// Step s is the s-th pair of atoms along N. Where warps lie along N, the other pairs belong to other
/// warps, and A fragments are good for storing only.
pub(crate) fn p_view(layout: &AccumulatorLayout) -> Layout {
    let warps = layout.warps as usize;
    let rows = MMA_K as usize * warps;
    let columns = 8 * layout.n_tiles;
    let mma = TiledMma::new(
        MmaAtom::m16n8k16(),
        [warps, 1, 1],
        [rows, columns, MMA_K as usize],
    );
    c_to_a(&mma, rows * layout.m_tiles, columns)
        .expect("warps along M only: the lane that owns an element of S owns it as P")
}

/// The A fragment (m, step) of P: register (a1, a2) holds its pair a0 = 0, 1.
#[cube]
pub(crate) fn a_fragment(
    acc_p: &Accumulator,
    #[comptime] a_view: Layout,
    #[comptime] m: usize,
    #[comptime] step: usize,
    #[comptime] dtype: Dtype,
) -> Registers4 {
    let at = comptime!(|a0: usize, a1: usize, a2: usize| a_view.at(((a0, a1, a2), m, step)));
    Registers4 {
        x: round_pair(
            acc_p.values[comptime!(at(0, 0, 0))],
            acc_p.values[comptime!(at(1, 0, 0))],
            dtype,
        ),
        y: round_pair(
            acc_p.values[comptime!(at(0, 1, 0))],
            acc_p.values[comptime!(at(1, 1, 0))],
            dtype,
        ),
        z: round_pair(
            acc_p.values[comptime!(at(0, 0, 1))],
            acc_p.values[comptime!(at(1, 0, 1))],
            dtype,
        ),
        w: round_pair(
            acc_p.values[comptime!(at(0, 1, 1))],
            acc_p.values[comptime!(at(1, 1, 1))],
            dtype,
        ),
    }
}

#[cfg(test)]
mod tests;
