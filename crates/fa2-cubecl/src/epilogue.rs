//! The end of a cube: normalise O, round it, send it through Q's tile to global memory; the LSE.
//!
//! Eight neighbours of a row lie in four lanes, so no view of the registers is a 16-byte store
//! (claim E1). Q's tile has done its work and takes O: no more shared memory is needed.

use crate::config::{FwdConfig, MMA_M, WARP};
use crate::copy::atom::{r2g, sync_warp};
use crate::copy::g2s::{RowCopier, RowWalk};
use crate::copy::r2s::R2s;
use crate::copy::s2g::store_rows;
use crate::mma::accumulator::{Accumulator, AccumulatorLayout};
use crate::mma::atom::round_pair;
use crate::problem::Dtype;
use crate::scheduler::{FwdShape, WorkTile, work_tile};
use crate::softmax::online::RowResult;
use crate::tensor::address::unit_position;
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;
use cute_layout::SmemTile;

/// Where a thread stands in its cube, and where the cube's shared memory is.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct ThreadPosition {
    /// Unit in the cube.
    pub unit: u32,
    /// Warp in the cube.
    pub warp: u32,
    /// Lane in the warp.
    pub lane: u32,
    /// Shared address of Q's tile.
    pub shared: u32,
}

#[cube]
impl ThreadPosition {
    /// The position of this thread, read anew.
    pub fn new(shared: u32) -> ThreadPosition {
        let unit = unit_position();
        ThreadPosition {
            unit,
            warp: unit / WARP,
            lane: unit % WARP,
            shared,
        }
    }
}

/// Stores O and the LSE of this cube's work.
///
/// Work, position and copy map are made anew: kept since the prologue, they would take registers
/// from the loop between.
#[cube]
pub(crate) fn store(
    acc_o: &mut Accumulator,
    result: &RowResult,
    shared: u32,
    o: u64,
    lse: u64,
    shape: &FwdShape,
    #[comptime] config: FwdConfig,
) {
    let work = work_tile(shape, comptime!(config.blocks()));
    let position = ThreadPosition::new(shared);
    scatter(
        acc_o,
        &result.inverse,
        &position,
        comptime!(config.q_tile()),
        comptime!(config.dtype()),
    );
    store_lse(
        result,
        position.warp,
        position.lane,
        lse,
        shape,
        &work,
        comptime!(acc_o.layout),
    );
    gather(&position, o, shape, &work, config);
}

/// Rounds the rows of `acc`, each times its factor, into Q's tile, `tile`.
#[cube]
pub(crate) fn scatter(
    acc: &mut Accumulator,
    factors: &Array<f32>,
    position: &ThreadPosition,
    #[comptime] tile: SmemTile,
    #[comptime] dtype: Dtype,
) {
    // Orders: this warp's reads of its rows of Q < its stores of O over them.
    sync_warp();
    let r2s = R2s::new(
        position.shared,
        position.warp,
        0u32,
        position.lane,
        tile,
        comptime!(acc.layout),
    );
    #[unroll]
    for m in 0..comptime!(acc.layout.m_tiles) {
        #[unroll]
        for half in 0..2usize {
            let factor = factors[comptime!(2 * m + half)];
            #[unroll]
            for n in 0..comptime!(acc.layout.n_tiles) {
                let low = acc.values[comptime!(acc.layout.index(0, half, m, n))] * factor;
                let high = acc.values[comptime!(acc.layout.index(1, half, m, n))] * factor;
                let pair = round_pair(low, high, dtype);
                r2s.store(pair, m, half, n);
            }
        }
    }
}

/// Stores the rows of Q's tile that exist to `o`.
#[cube]
pub(crate) fn gather(
    position: &ThreadPosition,
    o: u64,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] config: FwdConfig,
) {
    // Orders: all warps' stores of O into Q's tile < the row-wise loads below.
    sync_cube();
    let copier = RowCopier::new(position.unit, comptime!(config.row_share()));
    let matrix = row_address(o, &shape.o, work.batch, work.head, work.row);
    let target = RowWalk {
        address: copier.global(matrix, shape.o.row),
        pass_bytes: shape.o.pass,
        rows_inside: shape.seq_q as i32 - work.row as i32,
        columns_inside: shape.head_dim,
    };
    store_rows(
        &copier,
        position.shared,
        &target,
        comptime!(config.q_tile()),
        comptime!(config.block_m()),
    );
}

/// Stores the LSE of the rows of lane `lane` of warp `warp`: the first of a row's four lanes writes it.
#[cube]
pub(crate) fn store_lse(
    result: &RowResult,
    warp: u32,
    lane: u32,
    lse: u64,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] layout: AccumulatorLayout,
) {
    let first = work.row + warp * MMA_M + lane / 4;
    let head = lse + work.head_index as u64 * shape.seq_q as u64 * 4;
    if lane.is_multiple_of(4) {
        #[unroll]
        for m in 0..comptime!(layout.m_tiles) {
            #[unroll]
            for half in 0..2usize {
                let row = first + comptime!(layout.row_offset(m, half));
                if row < shape.seq_q {
                    r2g(head + row as u64 * 4, result.lse[comptime!(2 * m + half)]);
                }
            }
        }
    }
}
