//! K and V blocks on their way through shared memory: a ring of comptime depth.
//!
//! With two or three stages, block t is read from stage `t mod stages` while block
//! `t + stages - 1` is copied into the stage that was read before. Each block is one commit group;
//! the prologue commits `min(blocks, stages - 1)` of them, so before block t is read at most
//! `min(blocks - t - 1, stages - 2)` later groups may be in flight. In the tail, where nothing is
//! committed any more, that is 0: keeping `stages - 2` there would read a block too early
//! (claim P2).
//!
//! With one stage K and V take turns: V's copy runs under S = Q K^T, and the next K's under the
//! softmax and P V.

pub(crate) mod place;
pub(crate) mod registers;
pub(crate) mod stages;
pub(crate) mod turns;

use crate::config::FwdConfig;
use crate::copy::g2s::{RowCopier, RowWalk, Rows};
use crate::mask::BlockKind;
use crate::scheduler::{FwdShape, WorkTile};
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;
use cubecl_ptx::async_copy::{commit_group, wait_group};

/// State of the ring. Run-time fields that change are arrays of one register.
#[derive(CubeType)]
pub(crate) struct KvPipeline {
    /// This thread's address in the next K block to copy.
    k_source: Array<u64>,
    /// This thread's address in the next V block to copy.
    v_source: Array<u64>,
    /// Byte offset of the stage to read from.
    read: Array<u32>,
    /// Blocks left to visit; the one being read is the last of them.
    pub left: Array<u32>,
    /// Shared address of stage 0.
    base: u32,
    /// Bytes between the rows of two copy passes, and between two blocks, of K.
    k_pass: u64,
    k_block: u64,
    /// The same of V.
    v_pass: u64,
    v_block: u64,
    /// Key rows that exist.
    seq_k: u32,
    /// Columns that exist.
    columns_inside: u32,
    #[cube(comptime)]
    config: FwdConfig,
}

#[cube]
impl KvPipeline {
    /// A ring at shared address `base`, about to copy the last block of `work`.
    pub fn new(
        copier: &RowCopier,
        k: u64,
        v: u64,
        base: u32,
        shape: &FwdShape,
        work: &WorkTile,
        #[comptime] config: FwdConfig,
    ) -> KvPipeline {
        // Without a block the row is not used, but must not wrap either.
        let row =
            max(work.blocks, 1u32) * comptime!(config.block_n()) - comptime!(config.block_n());
        let mut k_source = Array::<u64>::new(1usize);
        let mut v_source = Array::<u64>::new(1usize);
        k_source[0] = copier.global(
            row_address(k, &shape.k, work.batch, work.head_kv, row),
            shape.k.row,
        );
        v_source[0] = copier.global(
            row_address(v, &shape.v, work.batch, work.head_kv, row),
            shape.v.row,
        );
        let mut read = Array::<u32>::new(1usize);
        read[0] = 0u32;
        let mut left = Array::<u32>::new(1usize);
        left[0] = work.blocks;
        KvPipeline {
            k_source,
            v_source,
            read,
            left,
            base,
            k_pass: shape.k.pass,
            k_block: shape.k.block,
            v_pass: shape.v.pass,
            v_block: shape.v.block,
            seq_k: shape.seq_k,
            columns_inside: shape.head_dim,
            config,
        }
    }

    /// Copies K of the next block, `ahead` blocks before the one being read, into `stage`.
    fn copy_k(
        &mut self,
        copier: &RowCopier,
        stage: u32,
        #[comptime] ahead: u32,
        #[comptime] rows: Rows,
    ) {
        let config = comptime!(self.config);
        let to = self.base + stage;
        let source = RowWalk {
            address: self.k_source[0],
            pass_bytes: self.k_pass,
            rows_inside: self.rows_inside(ahead),
            columns_inside: self.columns_inside,
        };
        copier.copy(to, &source, comptime!(config.kv_tile()), rows);
        self.k_source[0] -= self.k_block;
    }

    /// The same of V.
    fn copy_v(
        &mut self,
        copier: &RowCopier,
        stage: u32,
        #[comptime] ahead: u32,
        #[comptime] rows: Rows,
    ) {
        let config = comptime!(self.config);
        let to = self.base + stage + comptime!(config.kv_bytes());
        let source = RowWalk {
            address: self.v_source[0],
            pass_bytes: self.v_pass,
            rows_inside: self.rows_inside(ahead),
            columns_inside: self.columns_inside,
        };
        copier.copy(to, &source, comptime!(config.kv_tile()), rows);
        self.v_source[0] -= self.v_block;
    }

    /// Copies K and V of the next block into `stage` as one group.
    fn copy_block(
        &mut self,
        copier: &RowCopier,
        stage: u32,
        #[comptime] ahead: u32,
        #[comptime] rows: Rows,
    ) {
        self.copy_k(copier, stage, ahead, rows);
        self.copy_v(copier, stage, ahead, rows);
        commit_group();
    }

    /// Key rows that exist from the block on that is `ahead` blocks before the one being read.
    fn rows_inside(&self, #[comptime] ahead: u32) -> i32 {
        let block = self.left[0] - 1 - ahead;
        self.seq_k as i32 - (block * comptime!(self.config.block_n())) as i32
    }

    /// First fill. The copy of Q, started before, joins the first group.
    pub fn prologue(&mut self, copier: &RowCopier) {
        let config = comptime!(self.config);
        // Only the last block of the keys can have rows outside, and it comes first.
        if comptime!(config.stages() == 1) {
            if self.left[0] > 0 {
                self.copy_k(copier, 0u32, 0u32, Rows::Ragged);
            }
            commit_group();
        } else {
            if self.left[0] > 0 {
                self.copy_block(copier, 0u32, 0u32, Rows::Ragged);
            }
            #[unroll]
            for ahead in 1..comptime!(config.stages() - 1) {
                if ahead < self.left[0] {
                    let stage = comptime!(ahead * config.stage_bytes());
                    self.copy_block(copier, stage, ahead, Rows::Whole);
                }
            }
        }
    }

    /// Makes K of the next block readable (V too with several stages), and starts the next copies.
    pub fn acquire_k(&mut self, copier: &RowCopier, #[comptime] kind: BlockKind) {
        let config = comptime!(self.config);
        let ahead = comptime!(config.stages() - 1);
        if comptime!(ahead == 2) {
            if self.left[0] > 1 {
                wait_group(comptime!(ahead - 1));
            } else {
                wait_group(0u32);
            }
        } else {
            wait_group(0u32);
        }
        // Orders: copies of this block by all threads < its reads by ldmatrix; and reads of the
        // block before < the refill of its stage below.
        sync_cube();
        if comptime!(ahead == 0) {
            let rows = comptime!(match kind {
                BlockKind::Masked => Rows::Ragged,
                BlockKind::Full => Rows::Whole,
            });
            self.copy_v(copier, 0u32, 0u32, rows);
            commit_group();
        } else if self.left[0] > ahead {
            let stage = previous_stage(self.read[0], config);
            self.copy_block(copier, stage, ahead, Rows::Whole);
        }
    }

    /// Makes V of this block readable where `acquire_k` did not, and starts the copy of the next K.
    pub fn acquire_v(&mut self, copier: &RowCopier) {
        if comptime!(self.config.stages() == 1) {
            wait_group(0u32);
            // Orders: copies of V by all threads < its reads; reads of K by all warps < the copy
            // of the next K over it.
            sync_cube();
            if self.left[0] > 1 {
                self.copy_k(copier, 0u32, 1u32, Rows::Whole);
                commit_group();
            }
        }
    }

    /// Waits for all copies. For cubes that visit no block: their copy of Q is still in flight, and
    /// O goes over it. No block's group has taken it along, so it is committed here.
    pub fn drain(&self) {
        commit_group();
        wait_group(0u32);
        // Orders: copies of Q by all threads < the stores of O into its tile.
        sync_cube();
    }

    /// Leaves the block: how far the views of K and V have to move, wrapping. 0 with one stage.
    pub fn release(&mut self) -> u32 {
        let config = comptime!(self.config);
        self.left[0] -= 1;
        if comptime!(config.stages() > 1) {
            let next = next_stage(self.read[0], config);
            let step = next - self.read[0];
            self.read[0] = next;
            step
        } else {
            u32::new(0)
        }
    }
}

/// The stage after the one at byte offset `stage`.
#[cube]
fn next_stage(stage: u32, #[comptime] config: FwdConfig) -> u32 {
    let next = stage + comptime!(config.stage_bytes());
    select(
        next == comptime!(config.stage_bytes() * config.stages()),
        0u32,
        next,
    )
}

/// The stage before the one at byte offset `stage`: the one to refill while `stage` is read.
#[cube]
fn previous_stage(stage: u32, #[comptime] config: FwdConfig) -> u32 {
    let last = comptime!(config.stage_bytes() * (config.stages() - 1));
    select(
        stage == 0u32,
        u32::new(comptime!(last as i64)),
        stage - comptime!(config.stage_bytes()),
    )
}

#[cfg(test)]
mod tests;
