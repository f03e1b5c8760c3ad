//! The side of a cube that computes: a warpgroup and its 64 keys.
//!
//! Products run beside the code. A step over a block of queries starts S and dP together; P is computed under
//! dP, dS under dV += P^T dO, and dQ is added to its sums under dK += dS^T Q, which goes on into the next
//! step. That order keeps the tensor cores busiest: they have work whenever a warpgroup computes.

use crate::config::WARP;
use crate::config::backward::{BwdConfig, Loads, QuerySums, TERM_BYTES};
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, QueryWalk, query_block};
use crate::kernel::backward::sums::{self, Staged};
use crate::kernel::backward_sm90::operands::Operands;
use crate::kernel::backward_sm90::pipeline::QueryRing;
use crate::kernel::backward_sm90::producer::Loader;
use crate::kernel::backward_sm90::scores::{LaneTerms, TermKind, differentiate, to_probabilities};
use crate::mask;
use crate::mma::accumulator::Accumulator;
use crate::mma::warpgroup::atom::{WGMMA_K, fence_products, pin, wait};
use crate::mma::warpgroup::gemm::{Fragments, Steps, gemm_rs, gemm_rs_steps, gemm_ss};
use crate::pipeline::place::Place;
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// Queries whose P is rounded and multiplied at once. With all of 128, S, dP and the rounded P would not leave
/// a thread registers for anything else; where a turn is kept, 240 are not enough for 64 at once either.
const fn part_queries(config: BwdConfig) -> u32 {
    match config.query_sums() {
        QuerySums::Ordered if config.block_m() == 128 => 32,
        _ => 64,
    }
}

/// Sums over the queries, of this warpgroup's keys.
#[derive(CubeType)]
pub(crate) struct KeyGradients {
    /// dK, before the scale.
    pub d_k: Accumulator,
    /// dV.
    pub d_v: Accumulator,
}

/// What a thread carries from block to block.
#[derive(CubeType)]
struct State {
    operands: Operands,
    place: Place,
    walk: QueryWalk,
    acc_s: Accumulator,
    acc_dp: Accumulator,
    acc_dq: Accumulator,
    p: Fragments,
    ds: Fragments,
    gradients: KeyGradients,
}

/// dK and dV of this warpgroup's keys; adds its part of dQ to the sums from global
/// address `to_sums` on.
#[cube]
pub(crate) fn consume(
    ring: &QueryRing,
    loader: &mut Loader,
    to_sums: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) -> KeyGradients {
    let fragments = comptime!(config.block_m() as usize / 16);
    let mut state = State {
        operands: Operands::new(ring.shared, config),
        place: Place::first(0u32, comptime!(config.stages())),
        walk: QueryWalk::first(work, config),
        acc_s: Accumulator::undefined(comptime!(config.score_layout())),
        acc_dp: Accumulator::undefined(comptime!(config.score_layout())),
        acc_dq: Accumulator::undefined(comptime!(config.query_layout())),
        p: Fragments::undefined(fragments),
        ds: Fragments::undefined(fragments),
        gradients: KeyGradients {
            d_k: Accumulator::zeros(comptime!(config.gradient_layout())),
            d_v: Accumulator::zeros(comptime!(config.gradient_layout())),
        },
    };
    let steps = work.blocks * shape.group_size;
    if steps > 0 {
        start_loads(ring, loader, steps, shape, work, config);
        ring.wait_keys();
        for t in 0..steps {
            step(&mut state, ring, loader, t, to_sums, shape, work, config);
        }
        wait(&mut state.gradients.d_k, 0u32);
        pin(&mut state.gradients.d_v);
    }
    state.gradients
}

/// A block of queries.
#[cube]
fn step(
    state: &mut State,
    ring: &QueryRing,
    loader: &mut Loader,
    t: u32,
    to_sums: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    let dtype = comptime!(config.dtype());
    let stage = state.place.offset(comptime!(config.stage_bytes()));
    let v = state.operands.k.beside(comptime!(config.kv_bytes()));
    let q = state.operands.q.after(stage);
    let d_o = q.beside(comptime!(config.q_bytes()));
    let terms = ring.terms(state.place.tile[0]) + unit_position() % 4 * comptime!(2 * TERM_BYTES);

    ring.stages().wait_full(&state.place);
    let lse = LaneTerms::new(terms, TermKind::Lse, config);
    pin(&mut state.gradients.d_v);
    fence_products();
    gemm_ss(&mut state.acc_s, &state.operands.k, &q, dtype);
    if comptime!(config.ends_keys_before_dp()) {
        wait(&mut state.gradients.d_k, 1u32);
        fence_products();
    }
    gemm_ss(&mut state.acc_dp, &v, &d_o, dtype);
    wait(&mut state.acc_s, 1u32);
    pin(&mut state.gradients.d_k);
    if t > 0 {
        // dK of the block before has ended too.
        ring.release(state.place.tile_before());
    }
    if state.walk.block[0] < work.masked {
        hide(&mut state.acc_s, &state.walk, shape, work, config);
    }
    to_probabilities(&mut state.acc_s, &lse, shape.scale_log2);
    let delta = LaneTerms::new(terms, TermKind::Delta, config);
    #[unroll]
    for part in 0..comptime!(config.block_m() / part_queries(config)) {
        let steps = comptime!(Steps {
            first: part * part_queries(config) / WGMMA_K,
            count: part_queries(config) / WGMMA_K,
        });
        state.p.round_steps(&state.acc_s, steps, dtype);
        if comptime!(part == 0) {
            wait(&mut state.acc_dp, 0u32);
        }
        fence_products();
        let d_v = &mut state.gradients.d_v;
        let d_o = d_o.transposed();
        gemm_rs_steps(d_v, &state.p, &d_o, steps, dtype);
        differentiate(&state.acc_s, &mut state.acc_dp, &delta, steps);
        state.ds.round_steps(&state.acc_dp, steps, dtype);
    }
    let q = q.transposed();
    if comptime!(config.query_sums().in_memory()) {
        if comptime!(config.adds_in_bulk() && config.dq_is_in_ds()) {
            // dQ of the block before has left; dS may lie where it was.
            sums::await_staged();
        }
        let tile = t % 2 * comptime!(config.score_bytes());
        store_ds(&state.operands, &state.ds, tile, config);
        ring.publish();
        fence_products();
        let ds = state.operands.ds.after(tile);
        gemm_ss(&mut state.acc_dq, &ds, &state.operands.k_transposed, dtype);
        gemm_rs(&mut state.gradients.d_k, &state.ds, &q, dtype);
        load_ahead(ring, loader, &state.place, t, shape, work, config);
        wait(&mut state.acc_dq, 1u32);
        pin(&mut state.gradients.d_v);
        let block = query_block(shape, work, state.walk.head[0], state.walk.block[0]);
        let is_ordered = comptime!(config.query_sums() == QuerySums::Ordered);
        if is_ordered {
            ring.turns().take(t);
        }
        let target = to_sums + sums::offset(block, config);
        if comptime!(config.adds_in_bulk()) {
            if comptime!(!config.dq_is_in_ds()) {
                // dQ of the block before has had until now to leave.
                sums::await_staged();
            }
            Staged::new(ring.shared, t, config).add(&state.acc_dq, target);
        } else {
            sums::add(&state.acc_dq, target, config);
        }
        if is_ordered {
            ring.turns().end();
        }
    } else {
        ring.publish();
        fence_products();
        gemm_rs(&mut state.gradients.d_k, &state.ds, &q, dtype);
        load_ahead(ring, loader, &state.place, t, shape, work, config);
        // dV of this block ends here, so that the registers of P are free for the next.
        wait(&mut state.gradients.d_v, 1u32);
    }
    state.place.advance();
    state.walk.advance(work);
}

/// Where a computing thread loads: starts the copies of K and V and of all blocks for which there are stages
/// but one.
#[cube]
fn start_loads(
    ring: &QueryRing,
    loader: &mut Loader,
    steps: u32,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    if comptime!(config.loads() == Loads::Thread) {
        if unit_position() == 0 {
            loader.load_keys(ring, work);
        }
        #[unroll]
        for block in 0..comptime!(config.stages() - 1) {
            if unit_position() == 0 && block < steps {
                loader.load(ring, block, shape, work);
            }
            loader.advance(work);
        }
    }
}

/// Where a computing thread loads: starts the copies of the block for which the last one has left its stage.
#[cube]
fn load_ahead(
    ring: &QueryRing,
    loader: &mut Loader,
    place: &Place,
    t: u32,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    if comptime!(config.loads() == Loads::Thread) {
        let steps = work.blocks * shape.group_size;
        if unit_position() == 0 && t + comptime!(config.stages() - 1) < steps {
            loader.load(ring, place.tile_before(), shape, work);
        }
        loader.advance(work);
    }
}

/// Stores dS^T of this warp's keys, to the tile that lies `bytes` after the first.
#[cube]
fn store_ds(operands: &Operands, ds: &Fragments, bytes: u32, #[comptime] config: BwdConfig) {
    let target = operands.ds_target.after(bytes);
    let addresses = target.step_addresses();
    #[unroll]
    for pair in 0..comptime!(config.block_m() as usize / 16) {
        let block = ds.of_step(pair);
        target.store(&addresses, &block, 0usize, pair, 0usize, 0u32);
    }
}

/// Masks the block's scores.
#[cube]
fn hide(
    acc_s: &mut Accumulator,
    walk: &QueryWalk,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    let unit = unit_position();
    let key = work.key + unit / WARP * 16 + unit % WARP / 4;
    let query = (work.first + walk.block[0]) * comptime!(config.block_m()) + unit % 4 * 2;
    mask::apply_transposed(
        acc_s,
        key as i32,
        query as i32,
        shape.seq_k as i32,
        shape.diagonal,
        comptime!(config.mask()),
    );
}
