//! Online softmax: row maximum m, row sum l and the output O on one exponent base.
//!
//! With c = scale log2(e), a block of scores S of a row gives
//!
//! ```text
//! m' = max(m, max S)        P = exp2(c S - c m')        a = exp2(c m - c m')
//! l' = a l + sum P          O' = a O + P V
//! ```
//!
//! and at the end `O / l` and `LSE = ln(2) (c m + log2 l)`. What counts is that l and O share one
//! base; that it is the maximum itself only keeps P small. So a comptime [`Rescale`] says when the
//! base moves: with every block, or only when a block exceeds it by more than 2^8. P then stays
//! below 2^8, far inside f16, and the multiplications of O by a = 1 are saved.
//! Each lane sums its own columns of P, in f32 and before P is rounded, and the four lanes of a row
//! meet once, in `finish`.
//!
//! The state is `base = -c m` per row; no key seen yet is m = -inf, so base = +inf.

#![allow(
    clippy::assign_op_pattern,
    reason = "CubeCL orders `x *= y` otherwise, and ptxas then gives D = 128 on sm_90 8 instructions \
              more a block"
)]

use crate::mask::BlockKind;
use crate::mma::accumulator::Accumulator;
use crate::softmax::atom::{any_above, exp2_approx, fma, log2_approx, max, reciprocal_approx};
use crate::softmax::reduce::{quad_max, quad_sum};
use cubecl::prelude::*;
use serde::{Deserialize, Serialize};

/// ln(2): from base 2 to the natural logarithm.
const LN_2: f32 = std::f32::consts::LN_2;
/// Growth of a row's maximum, in powers of two, up to which a lazy softmax keeps its base.
const LAZY_GROWTH: f32 = 8.0;

/// When O and l move to a new exponent base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rescale {
    /// With every block, as in the article.
    Eager,
    /// When a row's maximum has grown by more than 2^8.
    Lazy,
}

/// The state of a lane's rows.
#[derive(CubeType)]
pub(crate) struct OnlineSoftmax {
    /// -c m of each row.
    base: Array<f32>,
    /// l of each row, over this lane's columns.
    row_sum: Array<f32>,
    #[cube(comptime)]
    rows: usize,
    #[cube(comptime)]
    rescale: Rescale,
}

#[cube]
impl OnlineSoftmax {
    /// No key seen: m = -inf, l = 0.
    pub fn new(#[comptime] rows: usize, #[comptime] rescale: Rescale) -> OnlineSoftmax {
        let mut softmax = OnlineSoftmax {
            base: Array::<f32>::new(rows),
            row_sum: Array::<f32>::new(rows),
            rows,
            rescale,
        };
        softmax.restart();
        softmax
    }

    /// Forgets all keys.
    pub fn restart(&mut self) {
        #[unroll]
        for row in 0..comptime!(self.rows) {
            self.base[row] = f32::new(f32::INFINITY);
            self.row_sum[row] = 0.0f32;
        }
    }

    /// Takes a block: `acc_s` becomes P, and `acc_o` is on P's base afterwards.
    pub fn step(
        &mut self,
        acc_s: &mut Accumulator,
        acc_o: &mut Accumulator,
        scale_log2: f32,
        #[comptime] block: BlockKind,
    ) {
        let highest = row_max(acc_s);
        #[allow(
            clippy::if_same_then_else,
            reason = "one condition is known at comptime, the other at run time"
        )]
        if comptime!(self.rescale == Rescale::Eager) {
            self.raise(&highest, acc_o, scale_log2);
        } else if self.has_grown(&highest, scale_log2) {
            self.raise(&highest, acc_o, scale_log2);
        }
        self.exponentiate(acc_s, scale_log2, block);
    }

    /// [`step`](Self::step) while products still add to O: what O must be multiplied by, once they have
    /// ended, to be on P's base.
    pub fn step_ahead(
        &mut self,
        acc_s: &mut Accumulator,
        scale_log2: f32,
        #[comptime] block: BlockKind,
    ) -> Rescaling {
        let rows = comptime!(self.rows);
        let highest = row_max(acc_s);
        let mut factors = Array::<f32>::new(rows);
        let mut moves = true.runtime();
        if comptime!(self.rescale == Rescale::Eager) {
            #[unroll]
            for row in 0..rows {
                factors[row] = self.raise_row(&highest, scale_log2, row);
            }
        } else {
            #[unroll]
            for row in 0..rows {
                factors[row] = 1.0f32;
            }
            moves = self.has_grown(&highest, scale_log2);
            if moves {
                #[unroll]
                for row in 0..rows {
                    factors[row] = self.raise_row(&highest, scale_log2, row);
                }
            }
        }
        self.exponentiate(acc_s, scale_log2, block);
        Rescaling {
            factors,
            moves,
            rescale: comptime!(self.rescale),
        }
    }

    /// Whether a row of the plane has outgrown its base. `highest` is the maximum of each row.
    fn has_grown(&self, highest: &Array<f32>, scale_log2: f32) -> bool {
        let mut growth = f32::new(f32::NEG_INFINITY);
        #[unroll]
        for row in 0..comptime!(self.rows) {
            // -inf + inf where a row has seen no key: NaN, which `max` passes over.
            growth = max(growth, fma(highest[row], scale_log2, self.base[row]));
        }
        any_above(growth, LAZY_GROWTH)
    }

    /// Moves O and l to the base of the rows' new maxima.
    fn raise(&mut self, highest: &Array<f32>, acc_o: &mut Accumulator, scale_log2: f32) {
        #[unroll]
        for row in 0..comptime!(acc_o.layout.rows()) {
            let rescale = self.raise_row(highest, scale_log2, row);
            scale_row(acc_o, row, rescale);
        }
    }

    /// Moves l of `row` to the base of its new maximum. The factor that does the same to O.
    fn raise_row(&mut self, highest: &Array<f32>, scale_log2: f32, #[comptime] row: usize) -> f32 {
        let old = self.base[row];
        let candidate = highest[row] * (0.0f32 - scale_log2);
        let new = select(candidate < old, candidate, old);
        // Equal bases may both be infinite, and their difference NaN.
        let rescale = select(new == old, 1.0f32, exp2_approx(new - old));
        self.base[row] = new;
        self.row_sum[row] = self.row_sum[row] * rescale;
        rescale
    }

    /// `S = exp2(c S + base)`, and the sums of the new values.
    ///
    /// Rows are interleaved, so that the units behind them always have independent work.
    fn exponentiate(
        &mut self,
        acc_s: &mut Accumulator,
        scale_log2: f32,
        #[comptime] block: BlockKind,
    ) {
        let rows = comptime!(self.rows);
        let mut base = Array::<f32>::new(rows);
        #[unroll]
        for row in 0..rows {
            // A row without a key so far has only hidden scores in a masked block: with base 0
            // they give exp2(-inf) = 0, where -inf + inf would be NaN.
            base[row] = if comptime!(block == BlockKind::Masked) {
                let unseen = self.base[row] == f32::new(f32::INFINITY);
                select(unseen, 0.0f32, self.base[row])
            } else {
                self.base[row]
            };
        }
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
                self.row_sum[row] += p0 + p1;
            }
        }
    }

    /// 1 / l and the LSE of each row.
    ///
    /// A row that saw no key has l = 0 and m = -inf: it gets 0 and -inf, and so O = 0.
    pub fn finish(&mut self) -> RowResult {
        let rows = comptime!(self.rows);
        let mut inverse = Array::<f32>::new(rows);
        let mut lse = Array::<f32>::new(rows);
        #[unroll]
        for row in 0..rows {
            let sum = quad_sum(self.row_sum[row]);
            let empty = sum == 0.0f32;
            inverse[row] = select(empty, 0.0f32, reciprocal_approx(sum));
            let log2 = log2_approx(sum) - self.base[row];
            lse[row] = select(empty, f32::new(f32::NEG_INFINITY), log2 * LN_2);
        }
        RowResult { inverse, lse }
    }
}

/// What O must be multiplied by to be on the base of the newest P.
#[derive(CubeType)]
pub(crate) struct Rescaling {
    /// Of each row.
    factors: Array<f32>,
    /// Whether one of the plane's factors may differ from 1.
    moves: bool,
    #[cube(comptime)]
    rescale: Rescale,
}

#[cube]
impl Rescaling {
    /// Does it.
    pub fn apply(&self, acc_o: &mut Accumulator) {
        if comptime!(self.rescale == Rescale::Eager) || self.moves {
            #[unroll]
            for row in 0..comptime!(acc_o.layout.rows()) {
                scale_row(acc_o, row, self.factors[row]);
            }
        }
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

/// Largest score of each of this lane's rows.
#[cube]
fn row_max(acc_s: &mut Accumulator) -> Array<f32> {
    let mut highest = block_max(acc_s);
    #[unroll]
    for row in 0..comptime!(acc_s.layout.rows()) {
        highest[row] = quad_max(highest[row]);
    }
    highest
}

/// Largest score of each of this lane's rows, over its own columns, in two chains a row.
#[cube]
fn block_max(acc_s: &mut Accumulator) -> Array<f32> {
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
                even[row] = pair;
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

/// Multiplies this lane's part of row `row` by `factor`.
#[cube]
fn scale_row(acc: &mut Accumulator, #[comptime] row: usize, factor: f32) {
    #[unroll]
    for n in 0..comptime!(acc.layout.n_tiles) {
        #[unroll]
        for c in 0..2usize {
            let at = comptime!(acc.layout.index_in_row(c, row, n));
            acc.values[at] = acc.values[at] * factor;
        }
    }
}

#[cfg(test)]
mod tests;
