//! The side of a cube that computes: a warpgroup and its 64 query rows of each work.
//!
//! In the steady state S of block t and O += P V of block t - 1 run together. S is waited for first; its
//! softmax works while O goes on, and O is moved to the new exponent base after it has ended.

use crate::config::sm90::{FwdSm90Config, Turns, WARPGROUP_ROWS};
use crate::config::{MMA_M, WARP};
use crate::kernel::forward_sm90::epilogue;
use crate::kernel::forward_sm90::pipeline::{Ring, Side, open_turns, pass_turn, take_turn};
use crate::mask::{self, BlockKind, MaskKind};
use crate::mma::accumulator::Accumulator;
use crate::mma::warpgroup::atom::{Major, fence_products, pin, wait};
use crate::mma::warpgroup::gemm::{Fragments, gemm_rs, gemm_ss};
use crate::mma::warpgroup::operand::{Operand, OperandForm};
use crate::pipeline::place::Place;
use crate::scheduler::{FwdShape, WorkTile, work_count, work_tile_at};
use crate::softmax::online::OnlineSoftmax;
use crate::tensor::address::unit_position;
use cubecl::prelude::*;

/// What a thread carries from block to block.
#[derive(CubeType)]
struct State {
    /// Q's 64 rows.
    q: Operand,
    /// The first tiles of K and V.
    k: Operand,
    v: Operand,
    /// The next blocks of K and of V.
    k_place: Place,
    v_place: Place,
    acc_s: Accumulator,
    p: Fragments,
    acc_o: Accumulator,
    softmax: OnlineSoftmax,
}

/// Computes and stores the rows of `warpgroup`, work after work.
#[cube]
pub(crate) fn consume(
    ring: &Ring,
    warpgroup: u32,
    o: u64,
    lse: u64,
    shape: &FwdShape,
    #[comptime] config: FwdSm90Config,
) {
    let q_form = comptime!(OperandForm::new(config.q_tile(), Major::K));
    let k_form = comptime!(OperandForm::new(config.kv_tile(), Major::K));
    let v_form = comptime!(OperandForm::new(config.kv_tile(), Major::Mn));
    let q_rows = ring.q + warpgroup * comptime!(WARPGROUP_ROWS * q_form.row_bytes());
    let works = work_count(shape);
    let mut q_place = Place::first(0u32, 1u32);
    let mut state = State {
        q: Operand::new(q_rows, q_form),
        k: Operand::new(ring.tiles(Side::K), k_form),
        v: Operand::new(ring.tiles(Side::V), v_form),
        k_place: Place::first(0u32, comptime!(config.stages())),
        v_place: Place::first(0u32, comptime!(config.stages())),
        acc_s: Accumulator::undefined(comptime!(config.s_layout())),
        p: Fragments::undefined(comptime!(config.block_n() as usize / 16)),
        acc_o: Accumulator::undefined(comptime!(config.o_layout())),
        softmax: OnlineSoftmax::new(
            comptime!(config.o_layout().rows()),
            comptime!(config.rescale()),
        ),
    };
    open_turns(warpgroup, config);
    let mut index = ring.next_work(&q_place);
    while index < works {
        let work = work_tile_at(shape, index, comptime!(config.blocks()));
        state.acc_o.clear();
        state.softmax.restart();
        visit(&mut state, ring, warpgroup, shape, &work, config);
        let result = state.softmax.finish();
        epilogue::store(&state.acc_o, &result, index, o, lse, shape, config);
        q_place.advance();
        index = ring.next_work(&q_place);
    }
}

/// All blocks of `work`.
#[cube]
fn visit(
    state: &mut State,
    ring: &Ring,
    warpgroup: u32,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] config: FwdSm90Config,
) {
    if work.blocks > 0 {
        first_block(state, ring, warpgroup, shape, work, config);
        // Without a causal mask only the first block can be cut.
        let masked = max(work.masked, 1u32);
        if comptime!(config.mask() != MaskKind::None) {
            for t in 1..masked {
                step(
                    state,
                    ring,
                    warpgroup,
                    t,
                    shape,
                    work,
                    BlockKind::Masked,
                    config,
                );
            }
        }
        for t in masked..work.blocks {
            step(
                state,
                ring,
                warpgroup,
                t,
                shape,
                work,
                BlockKind::Full,
                config,
            );
        }
        ring.release_q();
        last_block(state, ring, config);
    } else {
        ring.release_q();
    }
}

/// S of block 0, and its softmax. O is still zero, so no base can be wrong.
#[cube]
fn first_block(
    state: &mut State,
    ring: &Ring,
    warpgroup: u32,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] config: FwdSm90Config,
) {
    ring.stages(Side::K).wait_full(&state.k_place);
    take_turn(warpgroup, config);
    fence_products();
    let k = state
        .k
        .after(state.k_place.offset(comptime!(config.kv_bytes())));
    gemm_ss(&mut state.acc_s, &state.q, &k, config.dtype());
    pass_turn(warpgroup, config);
    wait(&mut state.acc_s, 0u32);
    ring.stages(Side::K).release(state.k_place.tile[0]);
    state.k_place.advance();
    hide(&mut state.acc_s, 0u32, shape, work, config);
    let _ = state
        .softmax
        .step_ahead(&mut state.acc_s, shape.scale_log2, BlockKind::Masked);
    state.p.round(&state.acc_s, config.dtype());
}

/// S of the `t`-th visited block and its softmax, and O += P V of the one before.
#[cube]
fn step(
    state: &mut State,
    ring: &Ring,
    warpgroup: u32,
    t: u32,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] kind: BlockKind,
    #[comptime] config: FwdSm90Config,
) {
    // V of the block before was loaded before this K. With a wait between the two products' starts,
    // ptxas would part them by an arrive of its own (C7519).
    ring.stages(Side::K).wait_full(&state.k_place);
    ring.stages(Side::V).wait_full(&state.v_place);
    take_turn(warpgroup, config);
    pin(&mut state.acc_o);
    fence_products();
    let k = state
        .k
        .after(state.k_place.offset(comptime!(config.kv_bytes())));
    gemm_ss(&mut state.acc_s, &state.q, &k, config.dtype());
    if comptime!(config.turns() == Turns::Scores) {
        pass_turn(warpgroup, config);
    }
    let v = state
        .v
        .after(state.v_place.offset(comptime!(config.kv_bytes())));
    gemm_rs(&mut state.acc_o, &state.p, &v, config.dtype());
    if comptime!(config.turns() == Turns::Ordered) {
        pass_turn(warpgroup, config);
    }
    wait(&mut state.acc_s, 1u32);
    ring.stages(Side::K).release(state.k_place.tile[0]);
    state.k_place.advance();
    if comptime!(kind == BlockKind::Masked) {
        hide(&mut state.acc_s, t, shape, work, config);
    }
    let rescaling = state
        .softmax
        .step_ahead(&mut state.acc_s, shape.scale_log2, kind);
    wait(&mut state.acc_o, 0u32);
    // P is rounded after the wait: the products have read the last one from its registers.
    pin(&mut state.acc_s);
    ring.stages(Side::V).release(state.v_place.tile[0]);
    state.v_place.advance();
    rescaling.apply(&mut state.acc_o);
    state.p.round(&state.acc_s, config.dtype());
}

/// O += P V of the last block.
#[cube]
fn last_block(state: &mut State, ring: &Ring, #[comptime] config: FwdSm90Config) {
    ring.stages(Side::V).wait_full(&state.v_place);
    pin(&mut state.acc_o);
    fence_products();
    let v = state
        .v
        .after(state.v_place.offset(comptime!(config.kv_bytes())));
    gemm_rs(&mut state.acc_o, &state.p, &v, config.dtype());
    wait(&mut state.acc_o, 0u32);
    ring.stages(Side::V).release(state.v_place.tile[0]);
    state.v_place.advance();
}

/// Masks the `t`-th visited block.
#[cube]
fn hide(
    acc_s: &mut Accumulator,
    t: u32,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] config: FwdSm90Config,
) {
    let unit = unit_position();
    let row = work.row + unit / WARP * MMA_M + unit % WARP / 4;
    let block = work.blocks - t - 1;
    let column = block * comptime!(config.block_n()) + unit % 4 * 2;
    mask::apply(
        acc_s,
        row as i32,
        column as i32,
        shape.seq_k as i32,
        shape.diagonal,
        comptime!(config.mask()),
    );
}
