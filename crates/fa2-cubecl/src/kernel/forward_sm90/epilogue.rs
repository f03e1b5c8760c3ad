//! The end of a work: normalise O, round it, and store it and the LSE from registers.
//!
//! Q's tile has been given back by then: no shared memory is needed, so that the loads of the next work go on.

use crate::config::sm90::FwdSm90Config;
use crate::config::{Columns, MMA_M, MMA_N, WARP};
use crate::copy::atom::r2g_chunk;
use crate::copy::r2g::{GROUP, transpose};
use crate::epilogue::store_lse;
use crate::mma::accumulator::Accumulator;
use crate::mma::atom::{Registers4, round_pair};
use crate::problem::Dtype;
use crate::scheduler::{FwdShape, work_tile_at};
use crate::softmax::online::RowResult;
use crate::tensor::address::unit_position;
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;

/// Stores O and the LSE of this thread's rows of work `index`.
///
/// Work and position are made anew: kept since the prologue, they would take registers from the loop
/// between.
#[cube]
pub(crate) fn store(
    acc_o: &Accumulator,
    result: &RowResult,
    index: u32,
    o: u64,
    lse: u64,
    shape: &FwdShape,
    #[comptime] config: FwdSm90Config,
) {
    let work = work_tile_at(shape, index, comptime!(config.blocks()));
    let unit = unit_position();
    let (warp, lane) = (unit / WARP, unit % WARP);
    let quarter = lane % 4;
    // All exchanges come before the first branch: LLVM, which does not know that lanes take part in them together,
    // could copy them into both of its sides.
    let chunks = transposed(acc_o, result, quarter, config);
    let row = work.row + warp * MMA_M + lane / 4;
    let matrix = row_address(o, &shape.o, work.batch, work.head, row);
    #[unroll]
    for half in 0..2usize {
        let below = comptime!(acc_o.layout.row_offset(0, half));
        let address = matrix
            + below as u64 * shape.o.row
            + (quarter * comptime!(MMA_N * Dtype::BYTES)) as u64;
        let exists = row + below < shape.seq_q;
        #[unroll]
        for group in 0..comptime!(acc_o.layout.n_tiles / GROUP) {
            let first = comptime!(half * acc_o.layout.n_tiles + group * GROUP);
            let column = comptime!((group * GROUP) as u32 * MMA_N);
            // With exact columns the right side is never expanded.
            if exists
                && (comptime!(config.columns() == Columns::Exact)
                    || quarter * MMA_N + column < shape.head_dim)
            {
                let chunk = Registers4 {
                    x: chunks[first],
                    y: chunks[comptime!(first + 1)],
                    z: chunks[comptime!(first + 2)],
                    w: chunks[comptime!(first + 3)],
                };
                r2g_chunk(address, comptime!(column * Dtype::BYTES), chunk);
            }
        }
    }
    store_lse(
        result,
        warp,
        lane,
        lse,
        shape,
        &work,
        comptime!(acc_o.layout),
    );
}

/// The rounded rows of this lane, row `half` after row `half`: of each group of atoms the chunk of atom
/// `quarter`, four words.
#[cube]
fn transposed(
    acc_o: &Accumulator,
    result: &RowResult,
    quarter: u32,
    #[comptime] config: FwdSm90Config,
) -> Array<u32> {
    let n_tiles = comptime!(acc_o.layout.n_tiles);
    let mut chunks = Array::<u32>::new(comptime!(2 * n_tiles));
    #[unroll]
    for half in 0..2usize {
        let factor = result.inverse[half];
        #[unroll]
        for group in 0..comptime!(n_tiles / GROUP) {
            let n = comptime!(group * GROUP);
            let words = Registers4 {
                x: rounded(acc_o, half, n, factor, config),
                y: rounded(acc_o, half, comptime!(n + 1), factor, config),
                z: rounded(acc_o, half, comptime!(n + 2), factor, config),
                w: rounded(acc_o, half, comptime!(n + 3), factor, config),
            };
            let chunk = transpose(words, quarter);
            let first = comptime!(half * n_tiles + n);
            chunks[first] = chunk.x;
            chunks[comptime!(first + 1)] = chunk.y;
            chunks[comptime!(first + 2)] = chunk.z;
            chunks[comptime!(first + 3)] = chunk.w;
        }
    }
    chunks
}

/// The two neighbours of atom `n` in the lane's row `half`, times `factor`, in one word.
#[cube]
fn rounded(
    acc_o: &Accumulator,
    #[comptime] half: usize,
    #[comptime] n: usize,
    factor: f32,
    #[comptime] config: FwdSm90Config,
) -> u32 {
    let low = acc_o.values[comptime!(acc_o.layout.index(0, half, 0, n))] * factor;
    let high = acc_o.values[comptime!(acc_o.layout.index(1, half, 0, n))] * factor;
    round_pair(low, high, comptime!(config.dtype()))
}
