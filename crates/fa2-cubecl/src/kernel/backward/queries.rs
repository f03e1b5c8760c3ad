//! dQ without atomics: one cube (CTA) owns `block_m` query rows of one head and visits the key blocks
//! that they see, as the forward kernel does, whose tiles, ring and schedule it shares.
//!
//! ```text
//! Q  --g2s--> sQ  --s2r--> A ┐
//! K  --g2s--> sK  --s2r--> B ┴ mma -> S (C) -> P ┐
//! dO --g2s--> sdO --s2r--> A ┐                   │
//! V  --g2s--> sV  --s2r--> B ┴ mma -> dP (C) ----┴-> dS (C, then A by c_to_a) ┐
//! sK --s2r.trans------------------------------------------------------------> B ┴ mma -> dQ (C)
//! ```

use crate::config::backward::TERM_BYTES;
use crate::config::{FwdConfig, MMA_M, WARP};
use crate::copy::atom::g2r_f32;
use crate::copy::g2s::{RowCopier, RowWalk, Rows};
use crate::copy::s2r::{Operand, S2r};
use crate::epilogue::{ThreadPosition, gather, scatter};
use crate::kernel::backward::scores::differentiate_rows;
use crate::kernel::forward_sm80::{o_layout, s_layout};
use crate::mask::{self, BlockKind};
use crate::mma::accumulator::Accumulator;
use crate::mma::gemm::{gemm_rs, gemm_ss};
use crate::pipeline::KvPipeline;
use crate::scheduler::{FwdShape, WorkTile, work_tile};
use crate::tensor::address::{
    SHARED_ALIGNMENT, global_address, global_address_mut, shared_address, unit_position,
};
use crate::tensor::gmem::{ByteStrides, row_address};
use cubecl::prelude::*;

/// Run-time shape of the pass.
#[derive(CubeType, CubeLaunch)]
pub struct QueryShape {
    /// That of the forward pass, with the strides of dQ for those of O.
    pub forward: FwdShape,
    /// Strides of dO.
    pub d_o: ByteStrides,
    /// Rows that have terms, of each head.
    pub term_rows: u32,
    /// The factor on the scores.
    pub scale: f32,
}

/// Dynamic shared memory of the pass: that of the forward kernel, and dO beside Q.
pub(crate) const fn shared_bytes(config: &FwdConfig) -> u32 {
    config.shared_bytes() + config.q_bytes()
}

/// dQ of every batch entry and query head.
///
/// Launch as the forward kernel, after the preprocess. `config` has at least two stages: with one, V
/// would follow K before the last product.
#[cube(launch_unchecked)]
pub fn backward_queries(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    d_o: &[u32],
    terms: &[f32],
    d_q: &mut [u32],
    shape: QueryShape,
    #[comptime] config: FwdConfig,
) {
    let forward = &shape.forward;
    let work = work_tile(forward, comptime!(config.blocks()));
    // One allocation, carved by hand, as in the forward kernel.
    let words = comptime!((shared_bytes(&config) / 4) as usize);
    let mut shared = Shared::<[u32]>::new_aligned_slice(words, SHARED_ALIGNMENT);
    let position = ThreadPosition::new(shared_address(&mut shared[0..1]));
    let copier = RowCopier::new(position.unit, comptime!(config.row_share()));
    let gq = row_address(
        global_address(&q[0..1]),
        &forward.q,
        work.batch,
        work.head,
        work.row,
    );
    copy_queries(
        &copier,
        position.shared,
        gq,
        &forward.q,
        forward,
        &work,
        config,
    );
    let g_do = row_address(
        global_address(&d_o[0..1]),
        &shape.d_o,
        work.batch,
        work.head,
        work.row,
    );
    let d_o_tile = position.shared + comptime!(config.shared_bytes());
    copy_queries(&copier, d_o_tile, g_do, &shape.d_o, forward, &work, config);
    let mut pipeline = KvPipeline::new(
        &copier,
        global_address(&k[0..1]),
        global_address(&v[0..1]),
        position.shared + comptime!(config.q_bytes()),
        forward,
        &work,
        config,
    );
    pipeline.prologue(&copier);

    let mut state = State {
        views: Views::new(&position, config),
        terms: RowTerms::new(global_address(&terms[0..1]), &shape, &work, config),
        acc_dq: Accumulator::zeros(comptime!(o_layout(&config))),
    };
    // By the blocks left, the one count that the loop needs: a second one would cost a register.
    let full = work.blocks - work.masked;
    while pipeline.left[0] > full {
        step(
            &mut state,
            &mut pipeline,
            &copier,
            forward,
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
            forward,
            &work,
            BlockKind::Full,
            config,
        );
    }
    if work.blocks == 0 {
        pipeline.drain();
    }

    let rows = comptime!(state.acc_dq.layout.rows());
    let mut factors = Array::<f32>::new(rows);
    #[unroll]
    for row in 0..rows {
        factors[row] = shape.scale;
    }
    let position = ThreadPosition::new(position.shared);
    scatter(
        &mut state.acc_dq,
        &factors,
        &position,
        comptime!(config.q_tile()),
        comptime!(config.dtype()),
    );
    let target = global_address_mut(&mut d_q[0..1]);
    gather(
        &position,
        target,
        forward,
        &work_tile(forward, comptime!(config.blocks())),
        config,
    );
}

/// What a thread carries from block to block.
#[derive(CubeType)]
struct State {
    views: Views,
    terms: RowTerms,
    acc_dq: Accumulator,
}

/// A warp's views of shared memory. Those of dO and V are beside those of Q and K.
#[derive(CubeType)]
struct Views {
    /// Q as A, at this warp's rows.
    q: S2r,
    /// K as B of S, in the stage being read.
    k: S2r,
    /// K as B of dQ.
    k_transposed: S2r,
}

#[cube]
impl Views {
    fn new(position: &ThreadPosition, #[comptime] config: FwdConfig) -> Views {
        let (q_tile, kv_tile) = comptime!((config.q_tile(), config.kv_tile()));
        let stages = position.shared + comptime!(config.q_bytes());
        let lane = position.lane;
        Views {
            q: S2r::of_warp(position.shared, position.warp, lane, q_tile, Operand::A),
            k: S2r::new(stages, lane, kv_tile, Operand::B),
            k_transposed: S2r::new(stages, lane, kv_tile, Operand::BTransposed),
        }
    }
}

/// The terms of a lane's rows.
#[derive(CubeType)]
pub(crate) struct RowTerms {
    /// -log2(e) LSE.
    pub lse: Array<f32>,
    /// -delta.
    pub delta: Array<f32>,
}

#[cube]
impl RowTerms {
    /// Loads them. Rows past the end have those of a row that sees no key.
    fn new(
        terms: u64,
        shape: &QueryShape,
        work: &WorkTile,
        #[comptime] config: FwdConfig,
    ) -> RowTerms {
        let layout = comptime!(o_layout(&config));
        let rows = comptime!(layout.rows());
        let mut lse = Array::<f32>::new(rows);
        let mut delta = Array::<f32>::new(rows);
        let unit = unit_position();
        let first = work.row + unit / WARP * MMA_M + unit % WARP / 4;
        let head =
            terms + work.head_index as u64 * shape.term_rows as u64 * comptime!(TERM_BYTES as u64);
        #[unroll]
        for i in 0..rows {
            let row = first + comptime!(layout.row_offset(i / 2, i % 2));
            let mut lse_term = f32::new(f32::NEG_INFINITY);
            let mut delta_term = 0.0f32;
            if row < shape.forward.seq_q {
                let at = head + (row / 2 * comptime!(2 * TERM_BYTES) + row % 2 * 4) as u64;
                lse_term = g2r_f32(at, 0u32);
                delta_term = g2r_f32(at, TERM_BYTES);
            }
            lse[i] = lse_term;
            delta[i] = delta_term;
        }
        RowTerms { lse, delta }
    }
}

/// Copies this cube's rows of Q or dO to `target`.
#[cube]
fn copy_queries(
    copier: &RowCopier,
    target: u32,
    matrix: u64,
    strides: &ByteStrides,
    shape: &FwdShape,
    work: &WorkTile,
    #[comptime] config: FwdConfig,
) {
    let walk = RowWalk {
        address: copier.global(matrix, strides.row),
        pass_bytes: strides.pass,
        rows_inside: shape.seq_q as i32 - work.row as i32,
        columns_inside: shape.head_dim,
    };
    copier.copy(target, &walk, comptime!(config.q_tile()), Rows::Ragged);
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
    let dtype = comptime!(config.dtype());
    pipeline.acquire_k(copier, kind);
    let mut acc_s = Accumulator::zeros(comptime!(s_layout(&config)));
    gemm_ss(&mut acc_s, &state.views.q, &state.views.k, dtype);
    let mut acc_dp = Accumulator::zeros(comptime!(s_layout(&config)));
    let d_o = state.views.q.beside(comptime!(config.shared_bytes()));
    let v = state.views.k.beside(comptime!(config.kv_bytes()));
    gemm_ss(&mut acc_dp, &d_o, &v, dtype);
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
    differentiate_rows(
        &acc_s,
        &mut acc_dp,
        &state.terms.lse,
        &state.terms.delta,
        shape.scale_log2,
    );
    gemm_rs(&mut state.acc_dq, &acc_dp, &state.views.k_transposed, dtype);
    let step = pipeline.release();
    state.views.k.advance(step);
    state.views.k_transposed.advance(step);
}
