//! The side of a cube that computes: a warpgroup, its blocks of queries, and its gradient.

use crate::config::WARP;
use crate::config::backward::sm90::DQ_COLUMNS;
use crate::config::backward::{BwdConfig, QuerySums};
use crate::copy::atom::sync_warp;
use crate::copy::r2s_block::R2sBlock;
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, QueryWalk};
use crate::kernel::backward::sums;
use crate::kernel::backward_sm90::shared_keys::pipeline::BlockRing;
use crate::kernel::backward_sm90::shared_keys::roles::{Gradient, Scores, Side};
use crate::kernel::backward_sm90::shared_keys::scores::{
    block_index, differentiate, first_row, pair_count, to_probabilities,
};
use crate::mask;
use crate::mma::accumulator::Accumulator;
use crate::mma::warpgroup::atom::{Major, fence_products, pin, wait, wait_operands};
use crate::mma::warpgroup::gemm::{Fragments, gemm_rs_from_zero, gemm_ss, gemm_ss_add};
use crate::mma::warpgroup::operand::{Operand, OperandForm, column_offset};
use crate::pipeline::place::Place;
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// What a thread carries from pair to pair of blocks.
#[derive(CubeType)]
struct State {
    /// Q in the first stage; dO is beside it.
    q: Operand,
    /// K; V is beside it.
    k: Operand,
    /// The first warpgroup's tile of what the gradient reads, transposed; the other's is beside it.
    scores: Operand,
    /// This warpgroup's tile of dS as a target; that of P is beside it.
    target: R2sBlock,
    /// This warpgroup's block of the pair, and the other's.
    own: Place,
    other: Place,
    walk: QueryWalk,
    acc_s: Accumulator,
    acc_dp: Accumulator,
    /// A part of dQ.
    acc_dq: Accumulator,
    p: Fragments,
    ds: Fragments,
    sum: Accumulator,
}

/// `gradient` of the cube's keys; adds dQ of this warpgroup's blocks to the sums from global address
/// `to_sums` on.
#[cube]
pub(crate) fn consume(
    ring: &BlockRing,
    to_sums: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] gradient: Gradient,
    #[comptime] config: BwdConfig,
) -> Accumulator {
    let mut state = start(ring, work, gradient, config);
    let blocks = work.blocks * shape.group_size;
    if blocks > 0 {
        if comptime!(gradient == Gradient::Values) {
            state.own.advance();
            state.walk.advance(work);
        } else {
            state.other.advance();
        }
        let scores = comptime!(gradient.scores());
        ring.open_tiles(scores, gradient);
        ring.wait_keys();
        for t in 0..pair_count(blocks) {
            step(&mut state, ring, t, to_sums, shape, work, gradient, config);
        }
        // The reader has left the last tiles too.
        ring.claim(Scores::P, gradient);
        ring.claim(Scores::Ds, gradient);
    }
    state.sum
}

#[cube]
fn start(
    ring: &BlockRing,
    work: &KeyTile,
    #[comptime] gradient: Gradient,
    #[comptime] config: BwdConfig,
) -> State {
    let rows = comptime!(OperandForm::new(config.q_tile(), Major::K));
    let keys = comptime!(OperandForm::new(config.kv_tile(), Major::K));
    let scores = comptime!(OperandForm::new(config.score_tile(), Major::Mn));
    let scores_offset = comptime!(match gradient {
        Gradient::Keys => config.ds_offset(),
        Gradient::Values => config.p_offset(),
    });
    let own_tile = comptime!(config.ds_offset() + gradient.index() * config.score_bytes());
    let unit = unit_position();
    let stages = comptime!(config.stages());
    let score_layout = comptime!(config.score_layout());
    let fragments = comptime!(score_layout.n_tiles / 2);
    State {
        q: Operand::new(ring.shared + comptime!(config.stages_offset()), rows),
        k: Operand::new(ring.shared, keys),
        scores: Operand::new(ring.shared + scores_offset, scores),
        target: R2sBlock::new(
            ring.shared + own_tile,
            unit / WARP % 4,
            0u32,
            unit % WARP,
            comptime!(config.score_tile()),
            score_layout,
            comptime!(config.instructions()),
        ),
        own: Place::first(0u32, stages),
        other: Place::first(0u32, stages),
        walk: QueryWalk::first(work, config),
        acc_s: Accumulator::undefined(score_layout),
        acc_dp: Accumulator::undefined(score_layout),
        acc_dq: Accumulator::undefined(comptime!(config.query_part_layout())),
        p: Fragments::undefined(fragments),
        ds: Fragments::undefined(fragments),
        sum: Accumulator::zeros(comptime!(config.gradient_layout())),
    }
}

/// The `t`-th pair of blocks, of which the last may have one only.
#[cube]
fn step(
    state: &mut State,
    ring: &BlockRing,
    t: u32,
    to_sums: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] gradient: Gradient,
    #[comptime] config: BwdConfig,
) {
    let dtype = comptime!(config.dtype());
    let exists = 2 * t + comptime!(gradient.index()) < work.blocks * shape.group_size;
    let q = state
        .q
        .after(state.own.offset(comptime!(config.stage_bytes())));
    let d_o = q.beside(comptime!(config.side_offset(Side::Outputs)));
    let v = state.k.beside(comptime!(config.kv_bytes()));
    let terms = ring.terms(state.own.tile[0]);

    ring.stages(Side::Queries).wait_full(&state.own);
    ring.stages(Side::Outputs).wait_full(&state.own);
    pin(&mut state.sum);
    fence_products();
    gemm_ss(&mut state.acc_s, &q, &state.k, dtype);
    gemm_ss(&mut state.acc_dp, &d_o, &v, dtype);
    wait(&mut state.acc_s, 1u32);
    if state.walk.block[0] < work.masked {
        hide(&mut state.acc_s, &state.walk, shape, work, config);
    }
    to_probabilities(&mut state.acc_s, terms, shape.scale_log2, exists);
    state.p.round(&state.acc_s, dtype);
    ring.claim(Scores::P, gradient);
    let beside = comptime!(config.p_offset() - config.ds_offset());
    store(&state.target, &state.p, beside);
    ring.publish(Scores::P, gradient);
    if comptime!(gradient == Gradient::Values) {
        // dP is waited for under dV.
        add_gradient(state, ring, gradient, config);
        wait(&mut state.acc_dp, 2u32);
    } else {
        wait(&mut state.acc_dp, 0u32);
        ring.stages(Side::Outputs).release(state.own.tile[0]);
        ring.stages(Side::Outputs).release(state.other.tile[0]);
    }
    differentiate(&state.acc_s, &mut state.acc_dp, terms);
    state.ds.round(&state.acc_dp, dtype);
    ring.claim(Scores::Ds, gradient);
    store(&state.target, &state.ds, 0u32);
    ring.publish(Scores::Ds, gradient);
    if comptime!(gradient == Gradient::Keys) {
        add_gradient(state, ring, gradient, config);
    }
    if comptime!(config.query_sums().in_memory()) {
        let index = block_index(&state.walk, exists, shape, work);
        let warp = unit_position() / WARP % 4;
        let target = to_sums + sums::offset_of_warp(index, warp, config);
        add_queries(state, ring, t, exists, target, gradient, config);
    } else {
        finish_gradient(state, ring, 0u32, gradient);
    }
    #[unroll]
    for _ in 0..2u32 {
        state.own.advance();
        state.other.advance();
        state.walk.advance(work);
    }
}

/// Starts the sum over both blocks of the pair, two groups.
#[cube]
fn add_gradient(
    state: &mut State,
    ring: &BlockRing,
    #[comptime] gradient: Gradient,
    #[comptime] config: BwdConfig,
) {
    let dtype = comptime!(config.dtype());
    let side = comptime!(gradient.side());
    let (own, other) = comptime!((
        gradient.index() * config.score_bytes(),
        (1 - gradient.index()) * config.score_bytes()
    ));
    let first = state.q.beside(comptime!(config.side_offset(side)));
    let stage_bytes = comptime!(config.stage_bytes());
    ring.stages(side).wait_full(&state.other);
    fence_products();
    let rows = first.after(state.own.offset(stage_bytes)).transposed();
    gemm_ss_add(&mut state.sum, &state.scores.beside(own), &rows, dtype);
    let rows = first.after(state.other.offset(stage_bytes)).transposed();
    gemm_ss_add(&mut state.sum, &state.scores.beside(other), &rows, dtype);
}

/// Waits for the sum, behind which `pending` groups may still run, and gives its operands back, those of each
/// block as soon as they are read.
#[cube]
fn finish_gradient(
    state: &mut State,
    ring: &BlockRing,
    #[comptime] pending: u32,
    #[comptime] gradient: Gradient,
) {
    let side = comptime!(gradient.side());
    wait_operands(comptime!(pending + 1));
    ring.stages(side).release(state.own.tile[0]);
    wait(&mut state.sum, pending);
    ring.stages(side).release(state.other.tile[0]);
    ring.leave(comptime!(gradient.scores()), gradient);
}

/// dQ of this warpgroup's `t`-th block, part after part, added to the lane's sums from global address `target` on.
/// The first part runs behind the gradient, whose operands are given back under it.
#[cube]
fn add_queries(
    state: &mut State,
    ring: &BlockRing,
    t: u32,
    exists: bool,
    target: u64,
    #[comptime] gradient: Gradient,
    #[comptime] config: BwdConfig,
) {
    let dtype = comptime!(config.dtype());
    let is_ordered = comptime!(config.query_sums() == QuerySums::Ordered);
    let k = state.k.transposed();
    #[unroll]
    for part in 0..comptime!(config.head_dim() / DQ_COLUMNS) {
        let column = comptime!(part * DQ_COLUMNS);
        let columns = k.beside(comptime!(column_offset(column, k.form)));
        // Keeps the additions of the part before in front of this product: behind it, ptxas would give it
        // other registers, of which there are none.
        sync_warp();
        fence_products();
        gemm_rs_from_zero(&mut state.acc_dq, &state.ds, &columns, dtype);
        if comptime!(part == 0) {
            finish_gradient(state, ring, 1u32, gradient);
            if is_ordered && exists {
                ring.turns(gradient).take(t);
            }
        }
        wait(&mut state.acc_dq, 0u32);
        // Without order a block that does not exist adds zeros; it has no turn.
        if comptime!(!is_ordered) || exists {
            sums::add_from(&state.acc_dq, target, column, config);
        }
    }
    if is_ordered && exists {
        ring.turns(gradient).end();
    }
}

/// Stores P or dS of this warp's queries, to the tile that lies `bytes` after that of dS.
#[cube]
fn store(target: &R2sBlock, fragments: &Fragments, #[comptime] bytes: u32) {
    let addresses = target.step_addresses();
    #[unroll]
    for pair in 0..comptime!(target.layout.n_tiles / 2) {
        let block = fragments.of_step(pair);
        target.store(&addresses, &block, 0usize, pair, 0usize, bytes);
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
    let row = (work.first + walk.block[0]) * comptime!(config.block_m()) + first_row();
    let column = work.key + unit_position() % 4 * 2;
    mask::apply(
        acc_s,
        row as i32,
        column as i32,
        shape.seq_k as i32,
        shape.diagonal,
        comptime!(config.mask()),
    );
}
