//! What happens to scores, in two parts: P while dP is still being multiplied, then dS.
//!
//! The terms of two queries are those of [`backward`](crate::kernel::backward): -log2(e) LSE of both, then
//! -delta of both, 8 bytes each. A load brings what is used at once; ptxas would part a longer one.

use crate::config::backward::{BwdConfig, TERM_BYTES};
use crate::copy::atom::{Pair, s2r_f32_pair};
use crate::mma::accumulator::Accumulator;
use crate::mma::warpgroup::gemm::Steps;
use crate::softmax::atom::{exp2_approx, fma};
use cubecl::prelude::*;

/// One kind of the row terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TermKind {
    /// -log2(e) LSE.
    Lse,
    /// -delta.
    Delta,
}

impl TermKind {
    /// Bytes from the terms of two queries to those of this kind.
    const fn offset(self) -> u32 {
        match self {
            Self::Lse => 0,
            Self::Delta => TERM_BYTES,
        }
    }
}

/// The terms of a lane's queries, of one kind. Where a thread has registers for them they are loaded here, so
/// that their latency passes under products; else each pair is loaded where it is used.
#[derive(CubeType)]
pub(crate) struct LaneTerms {
    /// Shared address of the terms of the first two queries.
    address: u32,
    values: Array<f32>,
    #[cube(comptime)]
    kind: TermKind,
    #[cube(comptime)]
    config: BwdConfig,
}

#[cube]
impl LaneTerms {
    /// Those of the scores of `config`; `address` is the shared address of the terms of this lane's first two
    /// queries.
    pub fn new(
        address: u32,
        #[comptime] kind: TermKind,
        #[comptime] config: BwdConfig,
    ) -> LaneTerms {
        let n_tiles = comptime!(config.score_layout().n_tiles);
        let mut values = Array::<f32>::new(comptime!(2 * n_tiles));
        if comptime!(config.holds_terms()) {
            #[unroll]
            for n in 0..n_tiles {
                let pair = load(address, n, kind, config);
                values[comptime!(2 * n)] = pair.low;
                values[comptime!(2 * n + 1)] = pair.high;
            }
        }
        LaneTerms {
            address,
            values,
            kind,
            config,
        }
    }

    /// Those of the two queries of repeat `n`.
    fn pair(&self, #[comptime] n: usize) -> Pair {
        if comptime!(self.config.holds_terms()) {
            Pair {
                low: self.values[comptime!(2 * n)],
                high: self.values[comptime!(2 * n + 1)],
            }
        } else {
            load(
                self.address,
                n,
                comptime!(self.kind),
                comptime!(self.config),
            )
        }
    }
}

#[cube]
fn load(
    address: u32,
    #[comptime] n: usize,
    #[comptime] kind: TermKind,
    #[comptime] config: BwdConfig,
) -> Pair {
    let layout = comptime!(config.score_layout());
    let offset = comptime!(layout.column_offset(0, n) * TERM_BYTES + kind.offset());
    s2r_f32_pair(address, offset)
}

/// `S = exp2(c S - log2(e) LSE)`.
#[cube]
pub(crate) fn to_probabilities(acc_s: &mut Accumulator, lse: &LaneTerms, scale_log2: f32) {
    let layout = comptime!(acc_s.layout);
    #[unroll]
    for n in 0..comptime!(layout.n_tiles) {
        let lse = lse.pair(n);
        #[unroll]
        for half in 0..2usize {
            let first = comptime!(layout.index(0, half, 0, n));
            let second = comptime!(layout.index(1, half, 0, n));
            acc_s.values[first] = exp2_approx(fma(acc_s.values[first], scale_log2, lse.low));
            acc_s.values[second] = exp2_approx(fma(acc_s.values[second], scale_log2, lse.high));
        }
    }
}

/// `dP = P (dP - delta)` for the queries of `steps`.
#[cube]
pub(crate) fn differentiate(
    acc_p: &Accumulator,
    acc_dp: &mut Accumulator,
    delta: &LaneTerms,
    #[comptime] steps: Steps,
) {
    let layout = comptime!(acc_p.layout);
    #[unroll]
    for index in 0..comptime!(2 * steps.count as usize) {
        let n = comptime!(2 * steps.first as usize + index);
        let delta = delta.pair(n);
        #[unroll]
        for half in 0..2usize {
            let first = comptime!(layout.index(0, half, 0, n));
            let second = comptime!(layout.index(1, half, 0, n));
            acc_dp.values[first] = acc_p.values[first] * (acc_dp.values[first] + delta.low);
            acc_dp.values[second] = acc_p.values[second] * (acc_dp.values[second] + delta.high);
        }
    }
}
