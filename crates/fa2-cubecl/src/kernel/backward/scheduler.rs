//! Which part of the problem a cube (CTA) of the backward works on.
//!
//! Grids are one-dimensional, so batch times heads is bounded by 2^31 only. Cubes that own keys come in
//! sections of key/value heads; inside a section all heads' first key blocks come first. Under a causal
//! mask those are seen by the most queries, and the light ones fill the last wave.

use crate::config::backward::{BwdConfig, QuerySums};
use crate::mask::{MaskKind, first_query};
use crate::tensor::address::cube_position;
use crate::tensor::gmem::ByteStrides;
use cubecl::prelude::*;

/// Run-time shape of a backward pass. Not part of the kernels' keys: any length runs one kernel.
#[derive(CubeType, CubeLaunch)]
pub struct BwdShape {
    /// Rows of Q and O.
    pub seq_q: u32,
    /// Rows of K and V.
    pub seq_k: u32,
    /// Columns of all tensors.
    pub head_dim: u32,
    /// Heads of Q.
    pub heads_q: u32,
    /// Heads of K.
    pub heads_kv: u32,
    /// Query heads for each key/value head.
    pub group_size: u32,
    /// Batch entries times key/value heads.
    pub heads_total: u32,
    /// Key/value heads of a section of the schedule.
    pub section: u32,
    /// Blocks of query rows.
    pub m_blocks: u32,
    /// Blocks of key rows.
    pub n_blocks: u32,
    /// Query i sees keys up to `i + diagonal` where the mask is causal.
    pub diagonal: i32,
    /// The factor on the scores.
    pub scale: f32,
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
    /// Strides of dO.
    pub d_o: ByteStrides,
    /// Strides of dQ.
    pub d_q: ByteStrides,
    /// Strides of dK.
    pub d_k: ByteStrides,
    /// Strides of dV.
    pub d_v: ByteStrides,
}

/// A block of query rows of one head.
#[derive(CubeType)]
pub(crate) struct QueryTile {
    /// Batch entry.
    pub batch: u32,
    /// Query head.
    pub head: u32,
    /// Batch entry and query head as one index.
    pub head_index: u32,
    /// The block among those of all heads.
    pub block: u32,
    /// First query row.
    pub row: u32,
}

/// The block of queries of this cube.
#[cube]
pub(crate) fn query_tile(shape: &BwdShape, #[comptime] config: BwdConfig) -> QueryTile {
    let cube = cube_position();
    let head_index = cube / shape.m_blocks;
    let m_block = cube - head_index * shape.m_blocks;
    let batch = head_index / shape.heads_q;
    QueryTile {
        batch,
        head: head_index - batch * shape.heads_q,
        head_index,
        block: cube,
        row: m_block * comptime!(config.block_m()),
    }
}

/// A block of key rows of one key/value head, and the query blocks that see it.
#[derive(CubeType)]
pub(crate) struct KeyTile {
    /// Batch entry.
    pub batch: u32,
    /// Key/value head.
    pub head_kv: u32,
    /// First key row.
    pub key: u32,
    /// First query block that sees a key, of each query head of the group.
    pub first: u32,
    /// How many see one: all from the first on.
    pub blocks: u32,
    /// How many of the first ones need a mask.
    pub masked: u32,
}

/// The block of keys of this cube. The position is read anew at each call.
#[cube]
pub(crate) fn key_tile(shape: &BwdShape, #[comptime] config: BwdConfig) -> KeyTile {
    let cube = cube_position();
    let section_cubes = shape.section * shape.n_blocks;
    let section = cube / section_cubes;
    let first_head = section * shape.section;
    let in_section = cube - section * section_cubes;
    // The last section may hold fewer heads.
    let heads = min(shape.section, shape.heads_total - first_head);
    let n_block = in_section / heads;
    let head_index = first_head + in_section - n_block * heads;
    let batch = head_index / shape.heads_kv;
    let key = n_block * comptime!(config.block_n());
    let range = query_range(
        key as i32,
        shape.seq_q as i32,
        shape.seq_k as i32,
        shape.diagonal,
        comptime!(config.mask()),
        comptime!(config.block_m() as i32),
        comptime!(config.block_n() as i32),
    );
    KeyTile {
        batch,
        head_kv: head_index - batch * shape.heads_kv,
        key,
        first: range.first as u32,
        blocks: range.blocks as u32,
        masked: range.masked as u32,
    }
}

/// Query block `block` of those that see `work`'s keys, of query head `head` of the group, among the blocks
/// of all heads.
#[cube]
pub(crate) fn query_block(shape: &BwdShape, work: &KeyTile, head: u32, block: u32) -> u64 {
    let head_index = work.batch * shape.heads_q + work.head_kv * shape.group_size + head;
    head_index as u64 * shape.m_blocks as u64 + (work.first + block) as u64
}

/// The way through the query blocks that see a block of keys: those of one query head of the group after
/// those of another. Fields that change are arrays of one register.
///
/// Where key blocks add to dQ in order, a head's last block comes first: under a causal mask it is the one that
/// all keys can begin with, and so the earlier keys are ahead everywhere.
#[derive(CubeType)]
pub(crate) struct QueryWalk {
    /// The block, counted from the first that sees the keys.
    pub block: Array<u32>,
    /// Its query head in the group.
    pub head: Array<u32>,
    #[cube(comptime)]
    descends: bool,
}

#[cube]
impl QueryWalk {
    /// The first block of `work`.
    pub fn first(work: &KeyTile, #[comptime] config: BwdConfig) -> QueryWalk {
        let descends = comptime!(config.query_sums() == QuerySums::Ordered);
        let mut block = Array::<u32>::new(1usize);
        let mut head = Array::<u32>::new(1usize);
        block[0] = 0u32;
        if descends {
            // Where no query sees the keys it wraps, and nobody takes a step.
            block[0] = work.blocks - 1;
        }
        head[0] = 0u32;
        QueryWalk {
            block,
            head,
            descends,
        }
    }

    /// The next block.
    pub fn advance(&mut self, work: &KeyTile) {
        let block = self.block[0];
        let ends = if comptime!(self.descends) {
            block == 0
        } else {
            block + 1 == work.blocks
        };
        self.block[0] = if comptime!(self.descends) {
            select(ends, work.blocks, block) - 1
        } else {
            select(ends, 0u32, block + 1)
        };
        self.head[0] = select(ends, self.head[0] + 1, self.head[0]);
    }
}

/// Query blocks that see a block of keys.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq)]
#[expand(derive(Clone, Copy))]
pub struct QueryRange {
    /// The first with a row that sees a key.
    pub first: i32,
    /// How many from there on: all, up to the last.
    pub blocks: i32,
    /// The leading ones that hold a hidden score.
    pub masked: i32,
}

/// Query blocks for the keys from `key`, which exists, on.
#[cube]
pub fn query_range(
    key: i32,
    seq_q: i32,
    seq_k: i32,
    diagonal: i32,
    #[comptime] kind: MaskKind,
    #[comptime] block_m: i32,
    #[comptime] block_n: i32,
) -> QueryRange {
    let m_blocks = (seq_q + comptime!(block_m - 1)) / block_m;
    let see_first = max(first_query(key, seq_k, diagonal, kind), 0);
    let first = select(see_first < seq_q, see_first / block_m, m_blocks);
    let blocks = m_blocks - first;
    let last = key + comptime!(block_n - 1);
    // Where the last key is past the end, its first query is infinitely far, and so no block is whole.
    let see_last = min(max(first_query(last, seq_k, diagonal, kind), 0), seq_q);
    let cut = (see_last + comptime!(block_m - 1)) / block_m - first;
    QueryRange {
        first,
        blocks,
        masked: min(max(cut, 0), blocks),
    }
}

#[cfg(test)]
mod tests;
