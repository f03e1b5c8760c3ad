//! The end of a cube that owns keys: dK and dV leave through the tiles of K and V.

use crate::config::WARP;
use crate::config::backward::BwdConfig;
use crate::copy::g2s::RowCopier;
use crate::copy::r2s::R2s;
use crate::copy::s2g::store_rows;
use crate::epilogue::ThreadPosition;
use crate::kernel::backward::pipeline::{sync_computing, walk};
use crate::kernel::backward::scheduler::{BwdShape, key_tile};
use crate::mma::accumulator::Accumulator;
use crate::mma::atom::round_pair;
use crate::tensor::address::unit_position;
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;

/// Stores dK, scaled, and dV of this cube's work.
///
/// Work, position and copy map are made anew: kept since the prologue, they would take registers from
/// the loop between.
#[cube]
pub(crate) fn store(
    acc_dk: &Accumulator,
    acc_dv: &Accumulator,
    shared: u32,
    d_k: u64,
    d_v: u64,
    shape: &BwdShape,
    #[comptime] config: BwdConfig,
) {
    let position = ThreadPosition::new(shared);
    let v_tile = position.shared + comptime!(config.kv_bytes());
    // Orders: copies of K and V by all threads, and all warps' reads of them < the stores below.
    sync_computing(config);
    scatter(acc_dk, position.shared, shape.scale, &position, config);
    scatter(acc_dv, v_tile, 1.0f32, &position, config);
    store_tiles(shared, d_k, d_v, shape, config);
}

/// [`store()`] where a warpgroup holds one of the two: `gradient`, `factor` times which is stored through
/// the tile at shared address `tile`, K's or V's.
#[cube]
pub(crate) fn store_one(
    gradient: &Accumulator,
    factor: f32,
    tile: u32,
    shared: u32,
    d_k: u64,
    d_v: u64,
    shape: &BwdShape,
    #[comptime] config: BwdConfig,
) {
    let unit = unit_position();
    let position = ThreadPosition {
        unit,
        warp: unit / WARP % comptime!(gradient.layout.warps),
        lane: unit % WARP,
        shared,
    };
    // Orders: all warpgroups' reads of K and V < the stores below.
    sync_computing(config);
    scatter(gradient, tile, factor, &position, config);
    store_tiles(shared, d_k, d_v, shape, config);
}

/// Stores the tiles of dK and dV, the rows that exist.
#[cube]
fn store_tiles(shared: u32, d_k: u64, d_v: u64, shape: &BwdShape, #[comptime] config: BwdConfig) {
    let work = key_tile(shape, config);
    let position = ThreadPosition::new(shared);
    let tile = comptime!(config.kv_tile());
    let v_tile = position.shared + comptime!(config.kv_bytes());
    // Orders: all warps' stores of dK and dV < the row-wise loads below.
    sync_computing(config);
    let copier = RowCopier::new(position.unit, comptime!(config.row_share()));
    let rows_inside = shape.seq_k as i32 - work.key as i32;
    let dk_walk = walk(
        &copier,
        row_address(d_k, &shape.d_k, work.batch, work.head_kv, work.key),
        &shape.d_k,
        rows_inside,
        shape.head_dim,
    );
    store_rows(
        &copier,
        position.shared,
        &dk_walk,
        tile,
        comptime!(config.block_n()),
    );
    let dv_walk = walk(
        &copier,
        row_address(d_v, &shape.d_v, work.batch, work.head_kv, work.key),
        &shape.d_v,
        rows_inside,
        shape.head_dim,
    );
    store_rows(&copier, v_tile, &dv_walk, tile, comptime!(config.block_n()));
}

/// Rounds `factor acc` into the tile at shared address `base`.
#[cube]
fn scatter(
    acc: &Accumulator,
    base: u32,
    factor: f32,
    position: &ThreadPosition,
    #[comptime] config: BwdConfig,
) {
    let layout = comptime!(acc.layout);
    let r2s = R2s::new(
        base,
        position.warp % comptime!(layout.warps),
        position.warp / comptime!(layout.warps),
        position.lane,
        comptime!(config.kv_tile()),
        layout,
    );
    #[unroll]
    for m in 0..comptime!(layout.m_tiles) {
        #[unroll]
        for half in 0..2usize {
            #[unroll]
            for n in 0..comptime!(layout.n_tiles) {
                let low = acc.values[comptime!(layout.index(0, half, m, n))] * factor;
                let high = acc.values[comptime!(layout.index(1, half, m, n))] * factor;
                let pair = round_pair(low, high, comptime!(config.dtype()));
                r2s.store(pair, m, half, n);
            }
        }
    }
}
