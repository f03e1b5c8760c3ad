//! Online softmax: row maximum m, row sum l and the output O on one exponent base.
//!
//! With c = scale log2(e), a block of scores S of a row gives
//!
//! ```text
//! m' = max(m, max S)        P = exp2(c S - c m')        a = exp2(c m - c m')
//! l' = a l + sum P          O' = a O + P V
//! ```
//!
//! and at the end `O / l` and `LSE = ln(2) (c m + log2 l)`. m is kept unscaled. Each lane keeps its
//! own part of l; the four lanes of a row meet once, in `finish`.

use crate::mask::BlockKind;
use crate::mma::accumulator::{Accumulator, AccumulatorLayout};
use crate::softmax::atom::{exp2_approx, fma, log2_approx, max, reciprocal_approx};
use crate::softmax::reduce::{quad_max, quad_sum};
use cubecl::prelude::*;

/// ln(2): from base 2 to the natural logarithm.
const LN_2: f32 = std::f32::consts::LN_2;

/// The state of a lane's rows.
#[derive(CubeType)]
pub(crate) struct OnlineSoftmax {
    /// Largest score so far.
    pub row_max: Array<f32>,
    /// Sum of exponentials so far, over this lane's columns.
    pub row_sum: Array<f32>,
    /// Rows and registers of the accumulators.
    #[cube(comptime)]
    pub rows: usize,
}

#[cube]
impl OnlineSoftmax {
    /// No key seen: m = -inf, l = 0.
    pub fn new(#[comptime] layout: AccumulatorLayout) -> OnlineSoftmax {
        let rows = comptime!(layout.rows());
        let mut row_max = Array::<f32>::new(rows);
        let mut row_sum = Array::<f32>::new(rows);
        #[unroll]
        for row in 0..rows {
            row_max[row] = f32::new(f32::NEG_INFINITY);
            row_sum[row] = 0.0f32;
        }
        OnlineSoftmax { row_max, row_sum, rows }
    }

    /// Takes a block: `acc_s` becomes P, and `acc_o` moves to the new base.
    ///
    /// Rows are interleaved and each runs two chains of maxima and sums, so that the units behind
    /// them (ALU, MUFU, FMA) always have independent work: docs/perf/forward.md.
    pub fn step(
        &mut self,
        acc_s: &mut Accumulator,
        acc_o: &mut Accumulator,
        scale_log2: f32,
        #[comptime] kind: BlockKind,
    ) {
        let rows = comptime!(self.rows);
        let mut base = Array::<f32>::new(rows);
        let mut highest = block_max(acc_s, &self.row_max);
        #[unroll]
        for row in 0..rows {
            highest[row] = quad_max(highest[row]);
        }
        #[unroll]
        for row in 0..rows {
            let new_max = highest[row];
            let scaled = new_max * (0.0f32 - scale_log2);
            // A row that has seen no key yet has m = -inf; with base 0 its exponentials are
            // exp2(-inf) = 0, where -inf minus -inf would be NaN.
            base[row] = if comptime!(kind == BlockKind::Masked) {
                select(new_max == f32::new(f32::NEG_INFINITY), 0.0f32, scaled)
            } else {
                scaled
            };
            let rescale = exp2_approx(fma(self.row_max[row], scale_log2, base[row]));
            self.row_max[row] = new_max;
            self.row_sum[row] = self.row_sum[row] * rescale;
            #[unroll]
            for n in 0..comptime!(acc_o.layout.n_tiles) {
                #[unroll]
                for c in 0..2usize {
                    let at = comptime!(acc_o.layout.index_in_row(c, row, n));
                    acc_o.values[at] = acc_o.values[at] * rescale;
                }
            }
        }
        exponentiate(acc_s, &mut self.row_sum, &base, scale_log2);
    }

    /// Sums over the lanes of a row; returns 1 / l and the LSE of each row.
    ///
    /// A row that saw no key has l = 0 and m = -inf: it gets 0 and -inf, and so O = 0.
    pub fn finish(&mut self, scale_log2: f32) -> RowResult {
        let rows = comptime!(self.rows);
        let mut inverse = Array::<f32>::new(rows);
        let mut lse = Array::<f32>::new(rows);
        #[unroll]
        for row in 0..rows {
            let sum = quad_sum(self.row_sum[row]);
            let empty = sum == 0.0f32;
            inverse[row] = select(empty, 0.0f32, reciprocal_approx(sum));
            let log2 = fma(self.row_max[row], scale_log2, log2_approx(sum));
            lse[row] = select(empty, f32::new(f32::NEG_INFINITY), log2 * LN_2);
        }
        RowResult { inverse, lse }
    }
}

/// What the epilogue needs of each row.
#[derive(CubeType)]
pub(crate) struct RowResult {
    /// 1 / l, or 0.
    pub inverse: Array<f32>,
    /// Natural logarithm of the sum of exponentials.
    pub lse: Array<f32>,
}

/// max(m, max S) over this lane's columns.
#[cube]
fn block_max(acc_s: &mut Accumulator, row_max: &Array<f32>) -> Array<f32> {
    let rows = comptime!(acc_s.layout.rows());
    let mut even = Array::<f32>::new(rows);
    let mut odd = Array::<f32>::new(rows);
    #[unroll]
    for n in 0..comptime!(acc_s.layout.n_tiles) {
        #[unroll]
        for row in 0..rows {
            let first = acc_s.values[comptime!(acc_s.layout.index_in_row(0, row, n))];
            let second = acc_s.values[comptime!(acc_s.layout.index_in_row(1, row, n))];
            let pair = max(first, second);
            if comptime!(n == 0) {
                even[row] = max(row_max[row], pair);
            } else if comptime!(n == 1) {
                odd[row] = pair;
            } else if comptime!(n % 2 == 0) {
                even[row] = max(even[row], pair);
            } else {
                odd[row] = max(odd[row], pair);
            }
        }
    }
    #[unroll]
    for row in 0..rows {
        even[row] = max(even[row], odd[row]);
    }
    even
}

/// `S = exp2(c S + base)`, and the sums of the new values into `row_sum`.
#[cube]
fn exponentiate(
    acc_s: &mut Accumulator,
    row_sum: &mut Array<f32>,
    base: &Array<f32>,
    scale_log2: f32,
) {
    let rows = comptime!(acc_s.layout.rows());
    let mut odd = Array::<f32>::new(rows);
    #[unroll]
    for n in 0..comptime!(acc_s.layout.n_tiles) {
        #[unroll]
        for row in 0..rows {
            let first = comptime!(acc_s.layout.index_in_row(0, row, n));
            let second = comptime!(acc_s.layout.index_in_row(1, row, n));
            let p0 = exp2_approx(fma(acc_s.values[first], scale_log2, base[row]));
            let p1 = exp2_approx(fma(acc_s.values[second], scale_log2, base[row]));
            acc_s.values[first] = p0;
            acc_s.values[second] = p1;
            if comptime!(n % 2 == 0) {
                row_sum[row] += p0 + p1;
            } else if comptime!(n == 1) {
                odd[row] = p0 + p1;
            } else {
                odd[row] += p0 + p1;
            }
        }
    }
    #[unroll]
    for row in 0..rows {
        row_sum[row] += odd[row];
    }
}
