//! What happens to scores: P from S, and dS from P and dP.
//!
//! Where scores are transposed, the terms of two queries, -log2(e) LSE and then -delta of both, are 16
//! bytes in shared memory: what a lane needs for two neighbouring columns. Where queries are rows, a lane
//! keeps the terms of its own.

use crate::config::backward::TERM_BYTES;
use crate::copy::atom::s2r_f32;
use crate::mma::accumulator::Accumulator;
use crate::softmax::atom::{exp2_approx, fma};
use cubecl::prelude::*;

/// `S = exp2(c S - log2(e) LSE)`, then `dP = S (dP - delta)`.
///
/// `terms` is the shared address of the terms of this lane's first two queries, of which `query` come
/// before those of the accumulators.
#[cube]
pub(crate) fn differentiate(
    acc_s: &mut Accumulator,
    acc_dp: &mut Accumulator,
    terms: u32,
    scale_log2: f32,
    #[comptime] query: u32,
) {
    let layout = comptime!(acc_s.layout);
    #[unroll]
    for n in 0..comptime!(layout.n_tiles) {
        let offset = comptime!((query + layout.column_offset(0, n)) * TERM_BYTES);
        let term = s2r_f32(terms, offset);
        #[unroll]
        for m in 0..comptime!(layout.m_tiles) {
            #[unroll]
            for half in 0..2usize {
                let first = comptime!(layout.index(0, half, m, n));
                let second = comptime!(layout.index(1, half, m, n));
                let p0 = exp2_approx(fma(acc_s.values[first], scale_log2, term.x));
                let p1 = exp2_approx(fma(acc_s.values[second], scale_log2, term.y));
                acc_s.values[first] = p0;
                acc_s.values[second] = p1;
                acc_dp.values[first] = p0 * (acc_dp.values[first] + term.z);
                acc_dp.values[second] = p1 * (acc_dp.values[second] + term.w);
            }
        }
    }
}

/// `dP = exp2(c S - log2(e) LSE) (dP - delta)`, where queries are rows; `lse` and `delta` are the terms
/// of this lane's rows.
#[cube]
pub(crate) fn differentiate_rows(
    acc_s: &Accumulator,
    acc_dp: &mut Accumulator,
    lse: &Array<f32>,
    delta: &Array<f32>,
    scale_log2: f32,
) {
    let layout = comptime!(acc_s.layout);
    #[unroll]
    for n in 0..comptime!(layout.n_tiles) {
        #[unroll]
        for row in 0..comptime!(layout.rows()) {
            #[unroll]
            for c in 0..2usize {
                let at = comptime!(layout.index_in_row(c, row, n));
                let p = exp2_approx(fma(acc_s.values[at], scale_log2, lse[row]));
                acc_dp.values[at] = p * (acc_dp.values[at] + delta[row]);
            }
        }
    }
}
