//! What happens to scores, in two parts: P while dP is still being multiplied, then dS.
//!
//! The terms of two queries are those of [`backward`](crate::kernel::backward): -log2(e) LSE of both, then
//! -delta of both, 8 bytes each. A load brings what is used at once; ptxas would part a longer one.

use crate::config::backward::TERM_BYTES;
use crate::copy::atom::s2r_f32_pair;
use crate::mma::accumulator::Accumulator;
use crate::mma::warpgroup::gemm::Steps;
use crate::softmax::atom::{exp2_approx, fma};
use cubecl::prelude::*;

/// `S = exp2(c S - log2(e) LSE)`. `terms` is the shared address of the terms of this lane's first two
/// queries.
#[cube]
pub(crate) fn to_probabilities(acc_s: &mut Accumulator, terms: u32, scale_log2: f32) {
    let layout = comptime!(acc_s.layout);
    #[unroll]
    for n in 0..comptime!(layout.n_tiles) {
        let lse = s2r_f32_pair(terms, comptime!(layout.column_offset(0, n) * TERM_BYTES));
        #[unroll]
        for half in 0..2usize {
            let first = comptime!(layout.index(0, half, 0, n));
            let second = comptime!(layout.index(1, half, 0, n));
            acc_s.values[first] = exp2_approx(fma(acc_s.values[first], scale_log2, lse.low));
            acc_s.values[second] = exp2_approx(fma(acc_s.values[second], scale_log2, lse.high));
        }
    }
}

/// `dP = P (dP - delta)` for the queries of `steps`; `terms` as for [`to_probabilities()`].
#[cube]
pub(crate) fn differentiate(
    acc_p: &Accumulator,
    acc_dp: &mut Accumulator,
    terms: u32,
    #[comptime] steps: Steps,
) {
    let layout = comptime!(acc_p.layout);
    #[unroll]
    for index in 0..comptime!(2 * steps.count as usize) {
        let n = comptime!(2 * steps.first as usize + index);
        let offset = comptime!((layout.column_offset(0, n) + 1) * TERM_BYTES);
        let delta = s2r_f32_pair(terms, offset);
        #[unroll]
        for half in 0..2usize {
            let first = comptime!(layout.index(0, half, 0, n));
            let second = comptime!(layout.index(1, half, 0, n));
            acc_dp.values[first] = acc_p.values[first] * (acc_dp.values[first] + delta.low);
            acc_dp.values[second] = acc_p.values[second] * (acc_dp.values[second] + delta.high);
        }
    }
}
