//! Blocks of Q and dO on their way through shared memory, and the barriers around dS.
//!
//! With two stages, block t + 1 is copied into the stage that was read before while block t is read.
//! With one, its copy starts when all warps have read block t, and runs under the product of dQ.
//!
//! The blocks of a step are those of one query head; the heads of a group follow each other.

use crate::config::backward::BwdConfig;
use crate::copy::atom::{CHUNK_BYTES, g2s};
use crate::copy::g2s::{RowCopier, RowWalk, Rows};
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, query_block};
use crate::tensor::address::unit_position;
use crate::tensor::gmem::{ByteStrides, row_address};
use cubecl::prelude::*;
use cubecl_ptx::async_copy::{commit_group, wait_group};
use cubecl_ptx::barrier::barrier_sync;

/// Named barrier of the threads that compute, where others load; 0 is the cube's.
const COMPUTING_BARRIER: i64 = 1;

/// State of the stages. Run-time fields that change are arrays of one register.
#[derive(CubeType)]
pub(crate) struct QueryPipeline {
    /// The block being read, counted from the first visited.
    pub block: Array<u32>,
    /// Its query head in the group.
    pub head: Array<u32>,
    /// The stage that it is in, 0 or 1.
    pub stage: Array<u32>,
    /// Q, dO and the row terms in global memory.
    q: u64,
    d_o: u64,
    terms: u64,
    /// The cube's shared memory.
    shared: u32,
    #[cube(comptime)]
    config: BwdConfig,
}

/// A block of a query head.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct BlockPosition {
    block: u32,
    head: u32,
}

/// Copies the keys and the values of `work` to the front of shared memory. They join the first group of
/// the pipeline.
#[cube]
pub(crate) fn copy_keys(
    copier: &RowCopier,
    k: u64,
    v: u64,
    shared: u32,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    let k_walk = walk(
        copier,
        row_address(k, &shape.k, work.batch, work.head_kv, work.key),
        &shape.k,
        shape.seq_k as i32 - work.key as i32,
        shape.head_dim,
    );
    copier.copy(shared, &k_walk, comptime!(config.kv_tile()), Rows::Ragged);
    let v_walk = walk(
        copier,
        row_address(v, &shape.v, work.batch, work.head_kv, work.key),
        &shape.v,
        shape.seq_k as i32 - work.key as i32,
        shape.head_dim,
    );
    let target = shared + comptime!(config.kv_bytes());
    copier.copy(target, &v_walk, comptime!(config.kv_tile()), Rows::Ragged);
}

/// A thread's way through the rows from address `matrix` on.
#[cube]
pub(crate) fn walk(
    copier: &RowCopier,
    matrix: u64,
    strides: &ByteStrides,
    rows_inside: i32,
    columns_inside: u32,
) -> RowWalk {
    RowWalk {
        address: copier.global(matrix, strides.row),
        pass_bytes: strides.pass,
        rows_inside,
        columns_inside,
    }
}

/// Orders shared-memory accesses of all threads that compute.
#[cube]
pub(crate) fn sync_computing(#[comptime] config: BwdConfig) {
    if comptime!(config.has_warpgroups()) {
        barrier_sync(u32::new(COMPUTING_BARRIER), comptime!(config.threads()));
    } else {
        sync_cube();
    }
}

#[cube]
impl QueryPipeline {
    /// Stages in the shared memory at `shared`, about to copy the first block.
    pub fn new(
        q: u64,
        d_o: u64,
        terms: u64,
        shared: u32,
        #[comptime] config: BwdConfig,
    ) -> QueryPipeline {
        let mut block = Array::<u32>::new(1usize);
        let mut head = Array::<u32>::new(1usize);
        let mut stage = Array::<u32>::new(1usize);
        block[0] = 0u32;
        head[0] = 0u32;
        stage[0] = 0u32;
        QueryPipeline {
            block,
            head,
            stage,
            q,
            d_o,
            terms,
            shared,
            config,
        }
    }

    /// Starts the copies of the first block.
    pub fn prologue(&self, copier: &RowCopier, shape: &BwdShape, work: &KeyTile, steps: u32) {
        if steps > 0 {
            let first = BlockPosition {
                block: 0u32,
                head: 0u32,
            };
            self.copy(copier, shape, work, first, 0u32);
        }
        commit_group();
    }

    /// Makes the block of step `t` readable, and starts the next copies where there are two stages.
    #[allow(
        clippy::collapsible_if,
        reason = "the outer condition is one of comptime"
    )]
    pub fn acquire(
        &self,
        copier: &RowCopier,
        shape: &BwdShape,
        work: &KeyTile,
        t: u32,
        steps: u32,
    ) {
        wait_group(0u32);
        // Orders: copies of this block by all threads < its reads; reads of the block before < the
        // refill of its stage below; reads of dS and P for the products of the block before < their
        // stores for this one.
        sync_cube();
        if comptime!(self.config.stages() == 2) {
            if t + 1 < steps {
                self.copy(copier, shape, work, self.next(work), 1 - self.stage[0]);
                commit_group();
            }
        }
    }

    /// Makes dS, and P where it goes through shared memory, readable.
    pub fn publish(&self) {
        // Orders: stores of dS and P by all warps < their reads as operands.
        sync_cube();
    }

    /// With one stage: starts the copies of the next block over this one.
    pub fn refill(&self, copier: &RowCopier, shape: &BwdShape, work: &KeyTile, t: u32, steps: u32) {
        if comptime!(self.config.stages() == 1) {
            if comptime!(!self.config.keeps_scores_in_registers()) {
                // Orders: reads of Q and dO for dK and dV by all warps < the copies below. Where P and
                // dS stay in registers, `publish` has done so.
                sync_cube();
            }
            if t + 1 < steps {
                self.copy(copier, shape, work, self.next(work), 0u32);
            }
            commit_group();
        }
    }

    /// Leaves the block: how far the views of Q and dO have to move, wrapping.
    pub fn release(&mut self, work: &KeyTile) -> u32 {
        let next = self.next(work);
        self.block[0] = next.block;
        self.head[0] = next.head;
        if comptime!(self.config.stages() == 2) {
            let bytes = u32::new(comptime!(self.config.stage_bytes() as i64));
            let step = select(self.stage[0] == 0u32, bytes, 0u32 - bytes);
            self.stage[0] = 1 - self.stage[0];
            step
        } else {
            u32::new(0)
        }
    }

    /// Waits for all copies: those of K and V where no block was visited.
    pub fn drain(&self) {
        wait_group(0u32);
    }

    fn next(&self, work: &KeyTile) -> BlockPosition {
        let last = self.block[0] + 1 == work.blocks;
        BlockPosition {
            block: select(last, 0u32, self.block[0] + 1),
            head: select(last, self.head[0] + 1, self.head[0]),
        }
    }

    fn copy(
        &self,
        copier: &RowCopier,
        shape: &BwdShape,
        work: &KeyTile,
        position: BlockPosition,
        stage: u32,
    ) {
        let config = comptime!(self.config);
        let head = work.head_kv * shape.group_size + position.head;
        let block = work.first + position.block;
        let row = block * comptime!(config.block_m());
        let rows_inside = shape.seq_q as i32 - row as i32;
        let q = walk(
            copier,
            row_address(self.q, &shape.q, work.batch, head, row),
            &shape.q,
            rows_inside,
            shape.head_dim,
        );
        let d_o = walk(
            copier,
            row_address(self.d_o, &shape.d_o, work.batch, head, row),
            &shape.d_o,
            rows_inside,
            shape.head_dim,
        );
        let to_q = self.shared
            + comptime!(config.stages_offset())
            + stage * comptime!(config.stage_bytes());
        let to_d_o = to_q + comptime!(config.q_bytes());
        let tile = comptime!(config.q_tile());
        if rows_inside >= comptime!(config.block_m() as i32) {
            copier.copy(to_q, &q, tile, Rows::Whole);
            copier.copy(to_d_o, &d_o, tile, Rows::Whole);
        } else {
            copier.copy(to_q, &q, tile, Rows::Ragged);
            copier.copy(to_d_o, &d_o, tile, Rows::Ragged);
        }
        // Row terms are there for whole blocks.
        let unit = unit_position();
        if unit < comptime!(config.term_bytes() / CHUNK_BYTES) {
            let index = query_block(shape, work, position.head, position.block);
            let source = self.terms + index * comptime!(config.term_bytes() as u64);
            let target = self.shared
                + comptime!(config.terms_offset())
                + stage * comptime!(config.term_bytes())
                + unit * CHUNK_BYTES;
            g2s(target, source + (unit * CHUNK_BYTES) as u64, 0u32, 0u32);
        }
    }
}
