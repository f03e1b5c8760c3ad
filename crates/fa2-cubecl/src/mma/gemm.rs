//! The two products: S = Q K^T with both operands from shared memory, and O += P V with P from
//! registers.

use crate::config::{FwdConfig, MMA_K};
use crate::copy::s2r::S2r;
use crate::mma::accumulator::Accumulator;
use crate::mma::atom::{Registers2, Registers4, multiply_add, round_pair};
use cubecl::prelude::*;
use cute_layout::{Layout, c_to_a};

/// `acc_s += Q K^T` for one block of keys.
#[cube]
pub(crate) fn gemm_ss(acc_s: &mut Accumulator, q: &S2r, k: &S2r, #[comptime] config: FwdConfig) {
    let m_tiles = comptime!(acc_s.layout.m_tiles);
    let n_pairs = comptime!(acc_s.layout.n_tiles / 2);
    let q_addresses = q.step_addresses();
    let k_addresses = k.step_addresses();
    #[unroll]
    for step in 0..comptime!((config.head_dim() / MMA_K) as usize) {
        let mut ts_rq = Sequence::<Registers4>::new(); // (MMA, MMA_M) of this k step
        #[unroll]
        for m in 0..m_tiles {
            ts_rq.push(q.load(&q_addresses, comptime!(m * config.warps() as usize), step));
        }
        #[unroll]
        for pair in 0..n_pairs {
            let ts_rk = k.load(&k_addresses, pair, step);
            multiply_pair(acc_s, &ts_rq, &ts_rk, pair, config);
        }
    }
}

/// `acc_o += P V` for one block of keys; `acc_p` holds P where the scores were.
///
/// P's A fragment is its C fragment under another layout, `c_to_a`: the rounding to 16 bits is the
/// only work on the way (claim L8).
#[cube]
pub(crate) fn gemm_rs(
    acc_o: &mut Accumulator,
    acc_p: &Accumulator,
    v: &S2r,
    #[comptime] config: FwdConfig,
) {
    let m_tiles = comptime!(acc_o.layout.m_tiles);
    let n_pairs = comptime!(acc_o.layout.n_tiles / 2);
    let a_view = comptime!(p_view(&config));
    let v_addresses = v.step_addresses();
    #[unroll]
    for step in 0..comptime!((config.block_n() / MMA_K) as usize) {
        let mut to_rp = Sequence::<Registers4>::new(); // (MMA, MMA_M) of this k step
        #[unroll]
        for m in 0..m_tiles {
            to_rp.push(a_fragment(acc_p, a_view.clone(), m, step, config));
        }
        #[unroll]
        for pair in 0..n_pairs {
            let to_rv = v.load(&v_addresses, step, pair);
            multiply_pair(acc_o, &to_rp, &to_rv, pair, config);
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
    #[comptime] config: FwdConfig,
) {
    let even = Registers2 { x: b.x, y: b.y };
    let odd = Registers2 { x: b.z, y: b.w };
    #[unroll]
    for m in 0..comptime!(acc.layout.m_tiles) {
        let a = a.index(m);
        multiply_add(acc, a, &even, m, comptime!(2 * pair), config.dtype());
        multiply_add(acc, a, &odd, m, comptime!(2 * pair + 1), config.dtype());
    }
}

/// From (a0, a1, a2), m, step of P's A fragment to the register of its C fragment.
pub(crate) fn p_view(config: &FwdConfig) -> Layout {
    c_to_a(
        &config.tiled_mma(),
        config.block_m() as usize,
        config.block_n() as usize,
    )
    .expect("warps along M only: the lane that owns an element of S owns it as P")
}

/// The A fragment (m, step) of P: register (a1, a2) holds its pair a0 = 0, 1.
#[cube]
fn a_fragment(
    acc_p: &Accumulator,
    #[comptime] a_view: Layout,
    #[comptime] m: usize,
    #[comptime] step: usize,
    #[comptime] config: FwdConfig,
) -> Registers4 {
    let at = comptime!(|a0: usize, a1: usize, a2: usize| a_view.at(((a0, a1, a2), m, step)));
    Registers4 {
        x: round_pair(
            acc_p.values[comptime!(at(0, 0, 0))],
            acc_p.values[comptime!(at(1, 0, 0))],
            config.dtype(),
        ),
        y: round_pair(
            acc_p.values[comptime!(at(0, 1, 0))],
            acc_p.values[comptime!(at(1, 1, 0))],
            config.dtype(),
        ),
        z: round_pair(
            acc_p.values[comptime!(at(0, 0, 1))],
            acc_p.values[comptime!(at(1, 0, 1))],
            config.dtype(),
        ),
        w: round_pair(
            acc_p.values[comptime!(at(0, 1, 1))],
            acc_p.values[comptime!(at(1, 1, 1))],
            config.dtype(),
        ),
    }
}

#[cfg(test)]
mod tests;
