//! dK and dV, and this block's part of dQ: one cube (CTA) owns `block_n` keys of a key/value head and
//! visits the query blocks that see them, of every query head of the group.
//!
//! Scores are computed transposed, with keys as rows: then P^T and dS^T are A operands of dV and dK, and
//! where a warp owns all queries of its keys they never leave its registers.
//!
//! ```text
//! K --s2r--> A ┐                      V --s2r--> A ┐
//! Q --s2r--> B ┴ mma -> S^T -> P^T   dO --s2r--> B ┴ mma -> dP^T -> dS^T --r2s--> sdS
//! P^T (A by c_to_a, or sP --s2r--> A) ┐           dS^T (the same) ┐      sdS --s2r.trans--> A ┐
//! dO --s2r.trans-----------------> B  ┴ mma -> dV      Q -> B.T   ┴ mma -> dK      K -> B.T   ┴ mma -> dQ
//! ```

use crate::config::WARP;
use crate::config::backward::{BwdConfig, QuerySums, TERM_BYTES};
use crate::copy::g2s::RowCopier;
use crate::copy::r2s_block::R2sBlock;
use crate::copy::s2r::{Operand, S2r};
use crate::epilogue::ThreadPosition;
use crate::kernel::backward::epilogue;
use crate::kernel::backward::pipeline::{QueryPipeline, copy_keys};
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, key_tile, query_block};
use crate::kernel::backward::scores::differentiate;
use crate::kernel::backward::sums;
use crate::mask::{self, BlockKind};
use crate::mma::accumulator::Accumulator;
use crate::mma::gemm::{a_fragment, gemm_rs, gemm_ss, p_view};
use crate::tensor::address::{
    SHARED_ALIGNMENT, global_address, global_address_mut, mark_branch, shared_address,
    unit_position,
};
use cubecl::prelude::*;

/// dK and dV of every key, and the sums of dQ where `config` has them.
///
/// Buffers are addressed by bytes; two 16-bit elements make one of their words. Launch with
/// `n_blocks heads_total` cubes of `config.threads()` units, after the preprocess.
#[cube(launch_unchecked)]
pub fn backward_keys(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    d_o: &[u32],
    terms: &[f32],
    dq_sums: &mut [f32],
    d_k: &mut [u32],
    d_v: &mut [u32],
    shape: BwdShape,
    #[comptime] config: BwdConfig,
) {
    let work = key_tile(&shape, config);
    // One allocation, carved by hand, as in the forward kernel.
    let words = comptime!((config.shared_bytes() / 4) as usize);
    let mut shared = Shared::<[u32]>::new_aligned_slice(words, SHARED_ALIGNMENT);
    let position = ThreadPosition::new(shared_address(&mut shared[0..1]));
    let copier = RowCopier::new(position.unit, comptime!(config.row_share()));
    copy_keys(
        &copier,
        global_address(&k[0..1]),
        global_address(&v[0..1]),
        position.shared,
        &shape,
        &work,
        config,
    );
    let mut pipeline = QueryPipeline::new(
        global_address(&q[0..1]),
        global_address(&d_o[0..1]),
        global_address(&terms[0..1]),
        position.shared,
        config,
    );
    let steps = work.blocks * shape.group_size;
    pipeline.prologue(&copier, &shape, &work, steps);

    let sums = global_address_mut(&mut dq_sums[0..1]);
    let mut state = State {
        views: Views::new(&position, config),
        acc_dk: Accumulator::zeros(comptime!(config.gradient_layout())),
        acc_dv: Accumulator::zeros(comptime!(config.gradient_layout())),
    };
    for t in 0..steps {
        pipeline.acquire(&copier, &shape, &work, t, steps);
        if pipeline.block[0] < work.masked {
            scores(
                &mut state,
                &pipeline,
                &shape,
                &work,
                BlockKind::Masked,
                config,
            );
        } else {
            scores(
                &mut state,
                &pipeline,
                &shape,
                &work,
                BlockKind::Full,
                config,
            );
        }
        if comptime!(!config.keeps_scores_in_registers()) {
            pipeline.publish();
            multiply_shared(&mut state, config);
        } else if comptime!(config.query_sums() == QuerySums::Atomic || config.stages() == 1) {
            pipeline.publish();
        }
        pipeline.refill(&copier, &shape, &work, t, steps);
        if comptime!(config.query_sums() == QuerySums::Atomic) {
            add_to_queries(&state.views, &pipeline, sums, &shape, &work, config);
        }
        let step = pipeline.release(&work);
        state.views.q.advance(step);
        state.views.q_transposed.advance(step);
    }
    pipeline.drain();
    epilogue::store(
        &state.acc_dk,
        &state.acc_dv,
        position.shared,
        global_address_mut(&mut d_k[0..1]),
        global_address_mut(&mut d_v[0..1]),
        &shape,
        config,
    );
}

/// What a thread carries from block to block.
#[derive(CubeType)]
struct State {
    views: Views,
    acc_dk: Accumulator,
    acc_dv: Accumulator,
}

/// A warp's views of shared memory. Those of V, dO and P are beside those of K, Q and dS.
#[derive(CubeType)]
struct Views {
    /// K as A, at this warp's keys.
    k: S2r,
    /// Q as B in the stage being read, at this warp's queries.
    q: S2r,
    /// Q as B of dK, at this warp's columns.
    q_transposed: S2r,
    /// dS^T as a target.
    ds_target: R2sBlock,
    /// dS^T as A of dK, at this warp's keys.
    ds: S2r,
    /// dS as A of dQ, at this warp's queries.
    ds_transposed: S2r,
    /// K as B of dQ, at this warp's columns.
    k_transposed: S2r,
    /// Shared address of the terms of this lane's first two queries in stage 0.
    terms: u32,
}

#[cube]
impl Views {
    fn new(position: &ThreadPosition, #[comptime] config: BwdConfig) -> Views {
        let tile = comptime!(config.tile());
        let (shared, lane) = (position.shared, position.lane);
        let warp = position.warp % comptime!(tile.warps);
        let warp_n = position.warp / comptime!(tile.warps);
        let warp_dq = position.warp % comptime!(tile.warps_dq);
        let warp_dq_n = position.warp / comptime!(tile.warps_dq);
        let stages = shared + comptime!(config.stages_offset());
        let ds = shared + comptime!(config.ds_offset());
        let (q_tile, kv_tile) = comptime!((config.q_tile(), config.kv_tile()));
        let score_tile = comptime!(config.score_tile());
        let first_query = warp_n * 16 + lane % 4 * 2;
        Views {
            k: S2r::of_warp(shared, warp, lane, kv_tile, Operand::A),
            q: S2r::of_warp(stages, warp_n, lane, q_tile, Operand::B),
            q_transposed: S2r::of_warp(stages, warp_n, lane, q_tile, Operand::BTransposed),
            ds_target: R2sBlock::new(
                ds,
                warp,
                warp_n,
                lane,
                score_tile,
                comptime!(config.score_layout()),
                comptime!(config.instructions()),
            ),
            ds: S2r::of_warp(ds, warp, lane, score_tile, Operand::A),
            ds_transposed: S2r::of_warp(ds, warp_dq, lane, score_tile, Operand::ATransposed),
            k_transposed: S2r::of_warp(shared, warp_dq_n, lane, kv_tile, Operand::BTransposed),
            terms: shared + comptime!(config.terms_offset()) + first_query * TERM_BYTES,
        }
    }
}

/// S^T to P^T and dS^T of a block; where they stay in registers, dV and dK too.
#[cube]
fn scores(
    state: &mut State,
    pipeline: &QueryPipeline,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] kind: BlockKind,
    #[comptime] config: BwdConfig,
) {
    if comptime!(!config.keeps_scores_in_registers()) {
        // The products of both kinds are the same. Moved ahead of their branch, as a common part, they would
        // not overlap with the exponentials. With scores in registers it pays to move them (docs/perf/backward.md).
        mark_branch(comptime!(kind as u32));
    }
    let dtype = comptime!(config.dtype());
    let at_once = comptime!(config.queries_at_once());
    let layout = comptime!(config.score_layout());
    let terms = state.views.terms + pipeline.stage[0] * comptime!(config.term_bytes());
    #[unroll]
    for part in 0..comptime!(config.block_m() / at_once) {
        let first = comptime!(part * at_once);
        let rows = comptime!(config.q_tile().offset(first as usize, 0) as u32 * 2);
        let d_o = comptime!(rows + config.q_bytes());
        let mut acc_s = Accumulator::zeros(layout);
        gemm_ss(
            &mut acc_s,
            &state.views.k,
            &state.views.q.beside(rows),
            dtype,
        );
        let mut acc_dp = Accumulator::zeros(layout);
        let v = state.views.k.beside(comptime!(config.kv_bytes()));
        gemm_ss(&mut acc_dp, &v, &state.views.q.beside(d_o), dtype);
        if comptime!(kind == BlockKind::Masked) {
            let unit = unit_position();
            let warp = unit / WARP;
            let key = work.key + warp % comptime!(config.tile().warps) * 16 + unit % WARP / 4;
            let query = (work.first + pipeline.block[0]) * comptime!(config.block_m())
                + first
                + warp / comptime!(config.tile().warps) * 16
                + unit % 4 * 2;
            mask::apply_transposed(
                &mut acc_s,
                key as i32,
                query as i32,
                shape.seq_k as i32,
                shape.diagonal,
                comptime!(config.mask()),
            );
        }
        differentiate(&mut acc_s, &mut acc_dp, terms, shape.scale_log2, first);
        if comptime!(config.keeps_scores_in_registers()) {
            if comptime!(config.query_sums() == QuerySums::Atomic) {
                store_blocks(&acc_dp, &state.views.ds_target, 0u32, first, config);
            }
            let d_o = state.views.q_transposed.beside(d_o);
            gemm_rs(&mut state.acc_dv, &acc_s, &d_o, dtype);
            let q = state.views.q_transposed.beside(rows);
            gemm_rs(&mut state.acc_dk, &acc_dp, &q, dtype);
        } else {
            let p_bytes = comptime!(config.score_bytes());
            store_blocks(&acc_s, &state.views.ds_target, p_bytes, first, config);
            store_blocks(&acc_dp, &state.views.ds_target, 0u32, first, config);
        }
    }
}

/// Rounds `acc` into the tile that lies `bytes` behind that of dS^T, from query `first` on.
#[cube]
fn store_blocks(
    acc: &Accumulator,
    target: &R2sBlock,
    #[comptime] bytes: u32,
    #[comptime] first: u32,
    #[comptime] config: BwdConfig,
) {
    let layout = comptime!(acc.layout);
    let view = comptime!(p_view(&layout));
    let addresses = target.step_addresses();
    #[unroll]
    for pair in 0..comptime!(layout.n_tiles / 2) {
        #[unroll]
        for m in 0..comptime!(layout.m_tiles) {
            let block = a_fragment(acc, view.clone(), m, pair, comptime!(config.dtype()));
            target.store(
                &addresses,
                &block,
                m,
                pair,
                comptime!((first / 16) as usize),
                bytes,
            );
        }
    }
}

/// `dV += P^T dO` and `dK += dS^T Q`, with P and dS from shared memory.
#[cube]
fn multiply_shared(state: &mut State, #[comptime] config: BwdConfig) {
    let dtype = comptime!(config.dtype());
    let p = state.views.ds.beside(comptime!(config.score_bytes()));
    let d_o = state.views.q_transposed.beside(comptime!(config.q_bytes()));
    gemm_ss(&mut state.acc_dv, &p, &d_o, dtype);
    gemm_ss(
        &mut state.acc_dk,
        &state.views.ds,
        &state.views.q_transposed,
        dtype,
    );
}

/// Adds `dS K` of this block to the sums of dQ.
#[cube]
fn add_to_queries(
    views: &Views,
    pipeline: &QueryPipeline,
    sums: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    let mut acc_dq = Accumulator::zeros(comptime!(config.query_layout()));
    gemm_ss(
        &mut acc_dq,
        &views.ds_transposed,
        &views.k_transposed,
        comptime!(config.dtype()),
    );
    let block = query_block(shape, work, pipeline.head[0], pipeline.block[0]);
    sums::add(&acc_dq, sums + sums::offset(block, config), config);
}
