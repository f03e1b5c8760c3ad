//! Tensor maps: what a box of Q, K or V is to the copy engine.
//!
//! A map names the address of its tensor. Only the device knows it without a wait, so the device makes
//! the maps, in the stream, from the buffers that the kernels are launched with anyway. Nothing is
//! cached: memory may move, be reused or be captured in a graph, and the maps are right.

use crate::problem::Dtype;
use crate::tensor::address::shared_address;
use crate::tensor::gmem::ByteStrides;
use cubecl::prelude::*;
use cubecl_ptx::matrix::HalfType;
use cubecl_ptx::shuffle::sync_warp;
use cubecl_ptx::tensor_map::{
    MapField, MapKind, acquire_map, publish_map, set_map_address, set_map_field, set_map_kind,
    set_map_stride,
};
use cubecl_ptx::wgmma::SharedSwizzle;
use cute_layout::{SmemTile, SwizzleMode};

pub(crate) use cubecl_ptx::tensor_map::TENSOR_MAP_BYTES;

/// Strides from here on don't fit a map, in bytes.
pub(crate) const STRIDE_LIMIT: u64 = 1 << 40;

/// The sizes of a `[batch, heads, rows, columns]` tensor.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct TensorSizes {
    /// Batch entries.
    pub batch: u32,
    /// Heads.
    pub heads: u32,
    /// Rows of a head.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
}

/// The maps of a launch, one after the other: Q's, K's, V's, and a backward's of dO.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Maps {
    /// Global address of the first.
    pub address: u64,
}

#[cube]
impl Maps {
    /// Lets this thread's copies use all `count` of them.
    pub fn acquire(&self, #[comptime] count: u32) {
        #[unroll]
        for map in 0..count {
            // Orders: the making of the maps by an earlier kernel < the copies that use them.
            acquire_map(self.at(map));
        }
    }

    /// Q's.
    pub fn q(&self) -> u64 {
        self.at(0u32)
    }

    /// K's.
    pub fn k(&self) -> u64 {
        self.at(1u32)
    }

    /// V's.
    pub fn v(&self) -> u64 {
        self.at(2u32)
    }

    /// dO's.
    pub fn d_o(&self) -> u64 {
        self.at(3u32)
    }

    fn at(&self, #[comptime] map: u32) -> u64 {
        self.address + comptime!((map * TENSOR_MAP_BYTES) as u64)
    }
}

/// A tile and its elements: what of a map is known at comptime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BoxKind {
    /// The tile, which consists of boxes.
    pub tile: SmemTile,
    /// Element type.
    pub dtype: Dtype,
}

impl BoxKind {
    const fn map(&self) -> MapKind {
        MapKind {
            rank: 4,
            ty: match self.dtype {
                Dtype::F16 => HalfType::F16,
                Dtype::Bf16 => HalfType::Bf16,
            },
            swizzle: shared_swizzle(self.tile.swizzle_mode()),
        }
    }
}

/// The permutation of a tile's chunks, as tensor maps and descriptors name it.
pub(crate) const fn shared_swizzle(mode: SwizzleMode) -> SharedSwizzle {
    match mode {
        SwizzleMode::Bytes64 => SharedSwizzle::Bytes64,
        SwizzleMode::Bytes128 => SharedSwizzle::Bytes128,
    }
}

/// Clears `count` maps at the front of `shared`: their shared address. The one plane of a cube does it, each
/// `lane` its part.
#[cube]
pub(crate) fn clear_maps(shared: &mut [u32], lane: u32, #[comptime] count: u32) -> u32 {
    #[unroll]
    for map in 0..count {
        // A map has as many words as a plane has lanes.
        shared[(lane + comptime!(map * TENSOR_MAP_BYTES / 4)) as usize] = 0u32;
    }
    let base = shared_address(&mut shared[0..1]);
    // Orders: all lanes' zeros < the fields that one lane sets.
    sync_warp();
    base
}

/// Copies the `count` maps at shared address `base` to global address `target`, when one lane has set their
/// fields.
#[cube]
pub(crate) fn publish_maps(base: u32, target: u64, #[comptime] count: u32) {
    // Orders: the fields that one lane has set < their copies by all lanes.
    sync_warp();
    #[unroll]
    for map in 0..count {
        let offset = comptime!(map * TENSOR_MAP_BYTES);
        publish_map(base + offset, target + comptime!(offset as u64));
    }
}

/// Fills the zeros at shared address `map` in: boxes of `kind` in the tensor at global `address`.
///
/// One thread does it. Sizes are at least 1, strides below [`STRIDE_LIMIT`].
#[cube]
pub(crate) fn describe(
    map: u32,
    address: u64,
    sizes: &TensorSizes,
    strides: &ByteStrides,
    #[comptime] kind: BoxKind,
) {
    set_map_address(map, address);
    set_map_kind(map, comptime!(kind.map()));
    set_map_field(map, comptime!(MapField::Size(0)), sizes.columns);
    set_map_field(map, comptime!(MapField::Size(1)), sizes.rows);
    set_map_field(map, comptime!(MapField::Size(2)), sizes.heads);
    set_map_field(map, comptime!(MapField::Size(3)), sizes.batch);
    set_map_stride(map, 0u32, strides.row);
    set_map_stride(map, 1u32, strides.head);
    set_map_stride(map, 2u32, strides.batch);
    let columns = u32::new(comptime!(kind.tile.atom_cols() as i64));
    let rows = u32::new(comptime!(kind.tile.rows() as i64));
    set_map_field(map, comptime!(MapField::BoxSize(0)), columns);
    set_map_field(map, comptime!(MapField::BoxSize(1)), rows);
    #[unroll]
    for dimension in 2..4u32 {
        set_map_field(map, comptime!(MapField::BoxSize(dimension)), 1u32);
    }
    #[unroll]
    for dimension in 0..4u32 {
        set_map_field(map, comptime!(MapField::ElementStep(dimension)), 1u32);
    }
}
