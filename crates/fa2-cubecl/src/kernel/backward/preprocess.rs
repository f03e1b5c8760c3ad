//! The terms of each query row, and zeros for the sums of dQ: one cube (CTA) a block of queries.
//!
//! Terms come in 16 bytes for two rows: -log2(e) LSE of both, then -delta of both. Blocks are whole
//! whatever the number of rows: one that does not exist, or that sees no key, has -inf and 0, so that
//! its P is 0.

use crate::config::backward::{BwdConfig, TERM_BYTES};
use crate::copy::atom::{CHUNK, CHUNK_BYTES, Registers4, g2r, g2r_f32, r2g, r2g_chunk};
use crate::copy::g2s::RowCopier;
use crate::kernel::backward::scheduler::{BwdShape, QueryTile, query_tile};
use crate::kernel::backward::sums;
use crate::mma::atom::add_dot_pair;
use crate::problem::Dtype;
use crate::softmax::atom::shuffle_xor;
use crate::tensor::address::{global_address, global_address_mut, unit_position};
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;
use serde::{Deserialize, Serialize};

/// log2(e): from the natural logarithm to base 2.
const LOG2_E: f32 = std::f32::consts::LOG2_E;

/// Whether the LSE has a gradient of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LseGradient {
    /// It has none, and its buffer is not read.
    Zero,
    /// It joins delta.
    Given,
}

/// Comptime description of a preprocess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PreprocessConfig {
    /// Of the kernels that follow.
    pub backward: BwdConfig,
    /// dLSE.
    pub lse_gradient: LseGradient,
}

/// The row terms of every query block, and its sums of dQ cleared, with the count of key blocks, where `config` has
/// them.
///
/// Launch with `m_blocks` cubes for each query head, of `config.backward.threads()` units.
#[cube(launch_unchecked)]
pub fn backward_preprocess(
    o: &[u32],
    d_o: &[u32],
    lse: &[f32],
    d_lse: &[f32],
    terms: &mut [f32],
    dq_sums: &mut [f32],
    shape: BwdShape,
    #[comptime] config: PreprocessConfig,
) {
    let backward = comptime!(config.backward);
    let work = query_tile(&shape, backward);
    if comptime!(backward.query_sums().in_memory()) {
        clear(global_address_mut(&mut dq_sums[0..1]), &work, backward);
    }
    let copier = RowCopier::new(unit_position(), comptime!(backward.row_share()));
    let matrix = row_address(
        global_address(&o[0..1]),
        &shape.o,
        work.batch,
        work.head,
        work.row,
    );
    let mut o_row = copier.global(matrix, shape.o.row);
    let matrix = row_address(
        global_address(&d_o[0..1]),
        &shape.d_o,
        work.batch,
        work.head,
        work.row,
    );
    let mut d_o_row = copier.global(matrix, shape.d_o.row);
    let block_terms = global_address_mut(&mut terms[0..1])
        + work.block as u64 * comptime!(backward.term_bytes() as u64);
    let lses = global_address(&lse[0..1]);
    let d_lses = global_address(&d_lse[0..1]);
    let pass_rows = comptime!(backward.row_share().rows_per_pass());
    #[unroll]
    for pass in 0..comptime!(backward.block_m() / pass_rows) {
        let in_block = copier.row + comptime!(pass * pass_rows);
        let row = work.row + in_block;
        let mut dot = 0.0f32;
        if row < shape.seq_q {
            dot = dot_row(&copier, o_row, d_o_row, shape.head_dim, backward);
        }
        dot = row_sum(dot, comptime!(backward.row_share().lanes_per_row));
        if copier.column == 0 {
            let mut lse_term = f32::new(f32::NEG_INFINITY);
            let mut delta_term = 0.0f32;
            if row < shape.seq_q {
                let at = (work.head_index as u64 * shape.seq_q as u64 + row as u64) * 4;
                let value = g2r_f32(lses + at, 0u32);
                // -inf: no key is seen.
                if value != f32::new(f32::NEG_INFINITY) {
                    lse_term = value * -LOG2_E;
                    delta_term = 0.0f32 - dot;
                    if comptime!(config.lse_gradient == LseGradient::Given) {
                        delta_term += g2r_f32(d_lses + at, 0u32);
                    }
                }
            }
            let at =
                block_terms + (in_block / 2 * comptime!(2 * TERM_BYTES) + in_block % 2 * 4) as u64;
            r2g(at, lse_term);
            r2g(at + comptime!(TERM_BYTES as u64), delta_term);
        }
        o_row += shape.o.pass;
        d_o_row += shape.d_o.pass;
    }
}

/// Sets the sums of a block to zero.
#[cube]
fn clear(sums: u64, work: &QueryTile, #[comptime] config: BwdConfig) {
    let (sums_bytes, count_bytes) = comptime!((config.query_bytes(), sums::count_bytes(config)));
    let pass_bytes = comptime!(config.threads() * CHUNK_BYTES);
    let unit = unit_position();
    let target = sums
        + work.block as u64 * comptime!(sums::block_bytes(config) as u64)
        + (unit * CHUNK_BYTES) as u64;
    #[unroll]
    for pass in 0..comptime!(sums_bytes / pass_bytes) {
        r2g_chunk(target, comptime!(pass * pass_bytes), zeros());
    }
    if comptime!(count_bytes > 0) && unit < comptime!(count_bytes / CHUNK_BYTES) {
        r2g_chunk(target, sums_bytes, zeros());
    }
}

/// A chunk of zeros.
#[cube]
fn zeros() -> Registers4 {
    Registers4 {
        x: 0u32,
        y: 0u32,
        z: 0u32,
        w: 0u32,
    }
}

/// This lane's part of the product of two rows.
#[cube]
fn dot_row(copier: &RowCopier, a: u64, b: u64, columns: u32, #[comptime] config: BwdConfig) -> f32 {
    let dtype = comptime!(config.dtype());
    let step_columns = comptime!(config.row_share().lanes_per_row * CHUNK);
    let mut sum = 0.0f32;
    #[unroll]
    for step in 0..comptime!(config.head_dim() / step_columns) {
        if copier.column + comptime!(step * step_columns) < columns {
            let offset = comptime!(step * step_columns * Dtype::BYTES);
            let x = g2r(a, offset);
            let y = g2r(b, offset);
            sum = add_dot_pair(x.x, y.x, sum, dtype);
            sum = add_dot_pair(x.y, y.y, sum, dtype);
            sum = add_dot_pair(x.z, y.z, sum, dtype);
            sum = add_dot_pair(x.w, y.w, sum, dtype);
        }
    }
    sum
}

/// Sum of `x` over the lanes that share a row.
#[cube]
fn row_sum(x: f32, #[comptime] lanes: u32) -> f32 {
    let mut sum = x + shuffle_xor(x, 1u32);
    sum += shuffle_xor(sum, 2u32);
    if comptime!(lanes == 8) {
        sum += shuffle_xor(sum, 4u32);
    }
    sum
}
