//! Tensor maps: what a box of Q, K or V is to the copy engine.
//!
//! A map names the address of its tensor. Only the device knows it without a wait, so the device makes
//! the maps, in the stream, from the buffers that the kernels are launched with anyway. Nothing is
//! cached: memory may move, be reused or be captured in a graph, and the maps are right.

use crate::problem::Dtype;
use crate::tensor::gmem::ByteStrides;
use cubecl::prelude::*;
use cubecl_ptx::matrix::HalfType;
use cubecl_ptx::tensor_map::{
    MapField, MapKind, set_map_address, set_map_field, set_map_kind, set_map_stride,
};
use cubecl_ptx::wgmma::SharedSwizzle;
use cute_layout::{SmemTile, SwizzleMode};

pub(crate) use cubecl_ptx::tensor_map::{TENSOR_MAP_BYTES, acquire_map, publish_map};

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
