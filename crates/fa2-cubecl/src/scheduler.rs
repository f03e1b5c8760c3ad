//! Which part of the problem a cube (CTA) works on, and which key blocks it visits.
//!
//! Works are numbered: the SM80 kernel has a cube for each, those for SM90 fetch one after the other. The grid
//! is one-dimensional, so batch times heads is bounded by 2^31 only. Heads come in
//! sections of a run-time number of heads; inside a section all heads' last query blocks come
//! first. Under a causal mask those are the heaviest, and the light ones fill the last wave; and a
//! section's keys and values stay in L2 while it is worked on.
//!
//! Key blocks are visited from the last to the first: only the first visited ones can be cut by
//! the end of the keys or by the diagonal, so masking is confined to a loop of its own.

use crate::mask::{MaskKind, end_column};
use crate::tensor::address::{cube_count, cube_position};
use crate::tensor::gmem::{ByteStrides, count_up};
use cubecl::prelude::*;

/// Run-time shape of a forward pass. Not part of the kernel's key: any length runs one kernel.
#[derive(CubeType, CubeLaunch)]
pub struct FwdShape {
    /// Rows of Q and O.
    pub seq_q: u32,
    /// Rows of K and V.
    pub seq_k: u32,
    /// Columns of all four.
    pub head_dim: u32,
    /// Heads of Q.
    pub heads_q: u32,
    /// Query heads for each key/value head.
    pub group_size: u32,
    /// Batch entries times query heads.
    pub heads_total: u32,
    /// Heads of a section of the schedule.
    pub section: u32,
    /// Blocks of query rows.
    pub m_blocks: u32,
    /// Query i sees keys up to `i + diagonal` where the mask is causal.
    pub diagonal: i32,
    /// scale log2(e).
    pub scale_log2: f32,
    /// Strides of Q.
    pub q: ByteStrides,
    /// Strides of K.
    pub k: ByteStrides,
    /// Strides of V.
    pub v: ByteStrides,
    /// Strides of O.
    pub o: ByteStrides,
}

/// What of a kernel's configuration the schedule depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FwdBlocks {
    /// Query rows of a cube.
    pub m: u32,
    /// Key rows of a step.
    pub n: u32,
    /// The mask.
    pub mask: MaskKind,
}

/// A piece of work for a cube: a block of query rows of one head.
#[derive(CubeType)]
pub(crate) struct WorkTile {
    /// Batch entry.
    pub batch: u32,
    /// Query head.
    pub head: u32,
    /// Key/value head.
    pub head_kv: u32,
    /// Batch entry and query head as one index.
    pub head_index: u32,
    /// First query row.
    pub row: u32,
    /// Key blocks to visit: `blocks - 1` down to 0.
    pub blocks: u32,
    /// How many of the first visited ones need a mask.
    pub masked: u32,
}

/// The work of this cube, where each has one. The position is read anew at each call.
#[cube]
pub(crate) fn work_tile(shape: &FwdShape, #[comptime] blocks: FwdBlocks) -> WorkTile {
    work_tile_at(shape, cube_position(), blocks)
}

/// Works of the whole problem.
#[cube]
pub(crate) fn work_count(shape: &FwdShape) -> u32 {
    shape.heads_total * shape.m_blocks
}

/// The number of the first work of this cube, where cubes fetch the others.
#[cube]
pub(crate) fn first_work() -> u32 {
    cube_position()
}

/// The number of a work that no cube has had. The count of those fetched so far is at `address + offset`.
#[cube]
pub(crate) fn fetch_work(address: u64, #[comptime] offset: u32) -> u32 {
    cube_count() + count_up(address, offset)
}

/// The work of number `index`, below [`work_count()`].
#[cube]
pub(crate) fn work_tile_at(
    shape: &FwdShape,
    index: u32,
    #[comptime] blocks: FwdBlocks,
) -> WorkTile {
    let section_cubes = shape.section * shape.m_blocks;
    let section = index / section_cubes;
    let first_head = section * shape.section;
    let in_section = index - section * section_cubes;
    // The last section may hold fewer heads.
    let heads = min(shape.section, shape.heads_total - first_head);
    let from_last = in_section / heads;
    let head_index = first_head + in_section - from_last * heads;
    let m_block = shape.m_blocks - from_last - 1;
    let batch = head_index / shape.heads_q;
    let head = head_index - batch * shape.heads_q;
    let row = m_block * comptime!(blocks.m);
    let range = block_range(
        row as i32,
        shape.seq_q as i32,
        shape.seq_k as i32,
        shape.diagonal,
        comptime!(blocks.mask),
        comptime!(blocks.m as i32),
        comptime!(blocks.n as i32),
    );
    WorkTile {
        batch,
        head,
        head_kv: head / shape.group_size,
        head_index,
        row,
        blocks: range.blocks as u32,
        masked: (range.blocks - range.full) as u32,
    }
}

/// Key blocks of a block of query rows.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq)]
#[expand(derive(Clone, Copy))]
pub struct BlockRange {
    /// Blocks that some row sees a key of.
    pub blocks: i32,
    /// The leading ones that every row sees whole.
    pub full: i32,
}

/// Key blocks for the rows from `row` on.
#[cube]
pub fn block_range(
    row: i32,
    seq_q: i32,
    seq_k: i32,
    diagonal: i32,
    #[comptime] kind: MaskKind,
    #[comptime] block_m: i32,
    #[comptime] block_n: i32,
) -> BlockRange {
    let last_row = min(row + block_m, seq_q) - 1;
    let widest = max(end_column(last_row, seq_k, diagonal, kind), 0);
    let narrowest = max(end_column(row, seq_k, diagonal, kind), 0);
    BlockRange {
        blocks: (widest + comptime!(block_n - 1)) / block_n,
        full: narrowest / block_n,
    }
}

#[cfg(test)]
mod tests;
