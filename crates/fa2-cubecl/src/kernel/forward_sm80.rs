//! The forward kernel for SM80 and up: mma.sync, ldmatrix and cp.async.
//!
//! One cube (CTA) owns `block_m` query rows of one head and visits the key blocks that they see:
//!
//! ```text
//! Q --g2s--> sQ --s2r--> A ┐
//! K --g2s--> sK --s2r--> B ┴ mma -> S (C) --mask, softmax--> P (C, then A by c_to_a) ┐
//! V --g2s--> sV --s2r.trans-----------------------------------------------------> B ┴ mma -> O (C)
//! O (C) --normalise, round--> sQ --s2g--> O
//! ```

use crate::config::{FwdConfig, MMA_M, WARP};
use crate::copy::g2s::{RowCopier, RowWalk, Rows};
use crate::copy::s2r::Operands;
use crate::epilogue::{self, ThreadPosition};
use crate::mask::{self, BlockKind};
use crate::mma::accumulator::{Accumulator, AccumulatorLayout};
use crate::mma::gemm::{gemm_rs, gemm_ss};
use crate::pipeline::KvPipeline;
use crate::scheduler::{FwdShape, WorkTile, work_tile};
use crate::softmax::online::OnlineSoftmax;
use crate::tensor::address::{
    SHARED_ALIGNMENT, global_address, global_address_mut, shared_address, unit_position,
};
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;

/// Layout of S's accumulator.
pub(crate) const fn s_layout(config: &FwdConfig) -> AccumulatorLayout {
    let n_tiles = config.block_n() as usize / 8;
    AccumulatorLayout {
        m_tiles: config.m_tiles(),
        n_tiles,
        warps: config.warps(),
        warps_n: 1,
    }
}

/// Layout of O's accumulator.
pub(crate) const fn o_layout(config: &FwdConfig) -> AccumulatorLayout {
    let n_tiles = config.head_dim() as usize / 8;
    AccumulatorLayout {
        m_tiles: config.m_tiles(),
        n_tiles,
        warps: config.warps(),
        warps_n: 1,
    }
}

/// `O = softmax(scale Q K^T + mask) V` and its LSE, for every batch entry and head.
///
/// Buffers are addressed by bytes; two 16-bit elements make one of their words. Launch with
/// `m_blocks heads_total` cubes of `config.threads()` units.
#[cube(launch_unchecked)]
pub fn forward_sm80(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    o: &mut [u32],
    lse: &mut [f32],
    shape: FwdShape,
    #[comptime] config: FwdConfig,
) {
    let work = work_tile(&shape, comptime!(config.blocks()));
    // One allocation, carved by hand: CubeCL places several by the life of their values, and
    // addresses that went into PTX are invisible to it.
    let words = comptime!((config.shared_bytes() / 4) as usize);
    let mut shared = Shared::<[u32]>::new_aligned_slice(words, SHARED_ALIGNMENT);
    let position = ThreadPosition::new(shared_address(&mut shared[0..1]));

    let copier = RowCopier::new(position.unit, comptime!(config.row_share()));
    let gq = row_address(
        global_address(&q[0..1]),
        &shape.q,
        work.batch,
        work.head,
        work.row,
    );
    let q_walk = RowWalk {
        address: copier.global(gq, shape.q.row),
        pass_bytes: shape.q.pass,
        rows_inside: shape.seq_q as i32 - work.row as i32,
        columns_inside: shape.head_dim,
    };
    copier.copy(
        position.shared,
        &q_walk,
        comptime!(config.q_tile()),
        Rows::Ragged,
    );
    let mut pipeline = KvPipeline::new(
        &copier,
        global_address(&k[0..1]),
        global_address(&v[0..1]),
        position.shared + comptime!(config.q_bytes()),
        &shape,
        &work,
        config,
    );
    pipeline.prologue(&copier);

    let mut state = State {
        operands: Operands::new(position.shared, position.warp, position.lane, config),
        softmax: OnlineSoftmax::new(comptime!(2 * config.m_tiles()), comptime!(config.rescale())),
        acc_o: Accumulator::zeros(comptime!(o_layout(&config))),
    };
    // By the blocks left, the one count that the loop needs: a second one would cost a register.
    let full = work.blocks - work.masked;
    while pipeline.left[0] > full {
        step(
            &mut state,
            &mut pipeline,
            &copier,
            &shape,
            &work,
            BlockKind::Masked,
            config,
        );
    }
    while pipeline.left[0] > 0 {
        step(
            &mut state,
            &mut pipeline,
            &copier,
            &shape,
            &work,
            BlockKind::Full,
            config,
        );
    }
    if work.blocks == 0 {
        pipeline.drain();
    }

    let result = state.softmax.finish();
    epilogue::store(
        &mut state.acc_o,
        &result,
        position.shared,
        global_address_mut(&mut o[0..1]),
        global_address_mut(&mut lse[0..1]),
        &shape,
        config,
    );
}

/// What a thread carries from block to block.
#[derive(CubeType)]
struct State {
    operands: Operands,
    softmax: OnlineSoftmax,
    acc_o: Accumulator,
}

/// The next key block.
#[cube]
fn step(
    state: &mut State,
    pipeline: &mut KvPipeline,
    copier: &RowCopier,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] kind: BlockKind,
    #[comptime] config: FwdConfig,
) {
    pipeline.acquire_k(copier, kind);
    let mut acc_s = Accumulator::zeros(comptime!(s_layout(&config)));
    gemm_ss(
        &mut acc_s,
        &state.operands.q,
        &state.operands.k,
        config.dtype(),
    );
    pipeline.acquire_v(copier);
    if comptime!(kind == BlockKind::Masked) {
        let unit = unit_position();
        let row = work.row + unit / WARP * MMA_M + unit % WARP / 4;
        let column = (pipeline.left[0] - 1) * comptime!(config.block_n()) + unit % 4 * 2;
        mask::apply(
            &mut acc_s,
            row as i32,
            column as i32,
            shape.seq_k as i32,
            shape.diagonal,
            comptime!(config.mask()),
        );
    }
    state
        .softmax
        .step(&mut acc_s, &mut state.acc_o, shape.scale_log2, kind);
    gemm_rs(&mut state.acc_o, &acc_s, &state.operands.v, config.dtype());
    let step = pipeline.release();
    state.operands.k.advance(step);
    state.operands.v.advance(step);
}
