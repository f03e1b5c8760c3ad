//! Blocks of queries by pairs, and what happens to the scores of one: P, then dS.
//!
//! Rows are queries, of which a lane holds two. Their terms are those of
//! [`backward`](crate::kernel::backward): -log2(e) LSE of two neighbouring rows, then -delta of both.

use crate::config::backward::TERM_BYTES;
use crate::config::{MMA_M, WARP};
use crate::copy::atom::s2r_f32_pair;
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, QueryWalk, query_block};
use crate::mma::accumulator::Accumulator;
use crate::softmax::atom::{exp2_approx, fma};
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// Rows between a lane's two.
const ROWS_BETWEEN: u32 = 8;

/// Pairs of blocks, the last of which may have one only.
#[cube]
pub(crate) fn pair_count(blocks: u32) -> u32 {
    blocks.div_ceil(2)
}

/// The block of `walk` among those of all heads. In place of one that does not exist, the last of `work`.
#[cube]
pub(crate) fn block_index(walk: &QueryWalk, exists: bool, shape: &BwdShape, work: &KeyTile) -> u64 {
    let head = select(exists, walk.head[0], shape.group_size - 1);
    let block = select(exists, walk.block[0], work.blocks - 1);
    query_block(shape, work, head, block)
}

/// This lane's first row of its warpgroup's 64.
#[cube]
pub(crate) fn first_row() -> u32 {
    let unit = unit_position();
    unit / WARP % 4 * MMA_M + unit % WARP / 4
}

/// A term of this lane's two rows, one register each.
#[cube]
fn row_terms(terms: u32, #[comptime] offset: u32) -> Array<f32> {
    let row = first_row();
    let address = terms + row / 2 * comptime!(2 * TERM_BYTES);
    let is_odd = row % 2 == 1;
    let mut values = Array::<f32>::new(2usize);
    #[unroll]
    for half in 0..2u32 {
        let pair = s2r_f32_pair(
            address,
            comptime!(offset + half * ROWS_BETWEEN * TERM_BYTES),
        );
        values[comptime!(half as usize)] = select(is_odd, pair.high, pair.low);
    }
    values
}

/// `S = exp2(c S - log2(e) LSE)`, and 0 in a block that does not exist. `terms` is the shared address of the
/// block's terms.
#[cube]
pub(crate) fn to_probabilities(acc_s: &mut Accumulator, terms: u32, scale_log2: f32, exists: bool) {
    let lse = row_terms(terms, 0u32);
    let layout = comptime!(acc_s.layout);
    #[unroll]
    for half in 0..2usize {
        let term = select(exists, lse[half], f32::new(f32::NEG_INFINITY));
        #[unroll]
        for n in 0..comptime!(layout.n_tiles) {
            #[unroll]
            for c in 0..2usize {
                let at = comptime!(layout.index(c, half, 0, n));
                acc_s.values[at] = exp2_approx(fma(acc_s.values[at], scale_log2, term));
            }
        }
    }
}

/// `dP = P (dP - delta)`; `terms` as for [`to_probabilities()`].
#[cube]
pub(crate) fn differentiate(acc_p: &Accumulator, acc_dp: &mut Accumulator, terms: u32) {
    let delta = row_terms(terms, TERM_BYTES);
    let layout = comptime!(acc_p.layout);
    #[unroll]
    for half in 0..2usize {
        #[unroll]
        for n in 0..comptime!(layout.n_tiles) {
            #[unroll]
            for c in 0..2usize {
                let at = comptime!(layout.index(c, half, 0, n));
                acc_dp.values[at] = acc_p.values[at] * (acc_dp.values[at] + delta[half]);
            }
        }
    }
}
