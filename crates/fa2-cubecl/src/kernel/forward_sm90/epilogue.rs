//! The end of a warpgroup: normalise O, round it, send it through its rows of Q's tile to global memory;
//! the LSE.

use crate::config::sm90::{FwdSm90Config, WARPGROUP, WARPGROUP_ROWS};
use crate::copy::g2s::{RowCopier, RowWalk};
use crate::copy::s2g::store_rows;
use crate::epilogue::{ThreadPosition, scatter, store_lse};
use crate::kernel::forward_sm90::pipeline::sync_warpgroup;
use crate::mma::accumulator::Accumulator;
use crate::mma::warpgroup::atom::Major;
use crate::mma::warpgroup::operand::OperandForm;
use crate::scheduler::{FwdShape, work_tile};
use crate::softmax::online::RowResult;
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;

/// Stores O and the LSE of `warpgroup`'s rows. `q` is the shared address of Q's tile.
///
/// Work and position are made anew: kept since the prologue, they would take registers from the loop
/// between.
#[cube]
pub(crate) fn store(
    acc_o: &mut Accumulator,
    result: &RowResult,
    q: u32,
    warpgroup: u32,
    o: u64,
    lse: u64,
    shape: &FwdShape,
    #[comptime] config: FwdSm90Config,
) {
    let work = work_tile(shape, comptime!(config.blocks()));
    let position = ThreadPosition::new(q);
    // Orders: the reads of Q's rows by the products of all four warps < the stores of O over them.
    sync_warpgroup(warpgroup);
    scatter(
        acc_o,
        &result.inverse,
        &position,
        comptime!(config.q_tile()),
        comptime!(config.dtype()),
    );
    store_lse(
        result,
        &position,
        lse,
        shape,
        &work,
        comptime!(acc_o.layout),
    );
    // Orders: the four warps' stores of O into their rows of the tile < the row-wise loads below.
    sync_warpgroup(warpgroup);
    let row_bytes = comptime!(
        OperandForm {
            tile: config.q_tile(),
            major: Major::K,
        }
        .row_bytes()
    );
    let first = warpgroup * WARPGROUP_ROWS;
    let copier = RowCopier::new(position.unit % WARPGROUP, comptime!(config.row_share()));
    let row = work.row + first;
    let matrix = row_address(o, &shape.o, work.batch, work.head, row);
    let target = RowWalk {
        address: copier.global(matrix, shape.o.row),
        pass_bytes: shape.o.pass,
        rows_inside: shape.seq_q as i32 - row as i32,
        columns_inside: shape.head_dim,
    };
    store_rows(
        &copier,
        q + first * row_bytes,
        &target,
        comptime!(config.q_tile()),
        WARPGROUP_ROWS,
    );
}
