//! Tensor maps made on the device: `tensormap.replace`, `tensormap.cp_fenceproxy` and the fence that
//! lets copies use a map (SM90, sm_90a only).
//!
//! PTX ISA, "Data Movement and Conversion Instructions: tensormap.replace, tensormap.cp_fenceproxy" and
//! "Parallel Synchronization and Communication Instructions: membar, fence". Every field of a map that
//! boxes of a tiled tensor need can be set, so one made of zeros becomes valid without the driver:
//! the map is made where the tensor's address is known, in the kernels' own stream.

use crate::matrix::HalfType;
use crate::op::{Asm, Effect, emit};
use crate::wgmma::SharedSwizzle;
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Bytes of a tensor map, and its alignment.
pub const TENSOR_MAP_BYTES: u32 = 128;

/// A field of 32 bits that the kernel knows at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapField {
    /// Elements of a box along a dimension.
    BoxSize(u32),
    /// Elements of the tensor along a dimension; beyond them a box is filled with zeros.
    Size(u32),
    /// Step of a box along a dimension, in elements.
    ElementStep(u32),
}

impl MapField {
    fn ptx(self) -> (&'static str, u32) {
        match self {
            Self::BoxSize(dimension) => ("box_dim", dimension),
            Self::Size(dimension) => ("global_dim", dimension),
            Self::ElementStep(dimension) => ("element_stride", dimension),
        }
    }
}

/// What of a map is known at comptime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MapKind {
    /// Dimensions, 1 to 5.
    pub rank: u32,
    /// Element type.
    pub ty: HalfType,
    /// How a row of a box lies in shared memory.
    pub swizzle: SharedSwizzle,
}

/// Sets the rank, the element type, the swizzle, no interleave and zeros as filling in the map at
/// shared `map`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn set_map_kind(map: u32, #[comptime] kind: MapKind) {
    intrinsic!(|scope| {
        // Values of the ISA's table of `new_val` for each field.
        let element = match kind.ty {
            HalfType::F16 => 6,
            HalfType::Bf16 => 10,
        };
        let swizzle = match kind.swizzle {
            SharedSwizzle::Bytes64 => 2,
            SharedSwizzle::Bytes128 => 3,
        };
        // The ISA counts ranks from 0.
        let fields = [
            ("rank", kind.rank - 1),
            ("elemtype", element),
            ("interleave_layout", 0),
            ("swizzle_mode", swizzle),
            ("fill_mode", 0),
        ];
        for (field, value) in fields {
            let text =
                format!("tensormap.replace.tile.{field}.shared::cta.b1024.b32 [$0], {value};");
            let asm = Asm {
                text: &text,
                constraints: "r,~{memory}",
                effect: Effect::Memory,
            };
            let operands = vec![map.read_value(scope)];
            emit(scope, asm, vec![], operands);
        }
    })
}

/// Sets `field` of the map at shared `map`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn set_map_field(map: u32, #[comptime] field: MapField, value: u32) {
    intrinsic!(|scope| {
        let (name, dimension) = field.ptx();
        let text =
            format!("tensormap.replace.tile.{name}.shared::cta.b1024.b32 [$0], {dimension}, $1;");
        let asm = Asm {
            text: &text,
            constraints: "r,r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![map.read_value(scope), value.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Sets the global address of the tensor, a multiple of 16, in the map at shared `map`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn set_map_address(map: u32, address: u64) {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [$0], $1;",
            constraints: "r,l,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![map.read_value(scope), address.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Sets the distance of neighbours along dimension `dimension + 1`, in bytes: a multiple of 16 below
/// 2^40. Assemblers before CUDA 12.5 expect 16ths of it; [`tma`](crate::tma) says how they are kept off.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn set_map_stride(map: u32, #[comptime] dimension: u32, bytes: u64) {
    intrinsic!(|scope| {
        let text = format!(
            "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [$0], {dimension}, $1;"
        );
        let asm = Asm {
            text: &text,
            constraints: "r,l,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![map.read_value(scope), bytes.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Copies the map at shared `map` to global `target`, for copies that [`acquire_map()`] it later.
/// All lanes of a plane (warp) do it.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn publish_map(map: u32, target: u64) {
    intrinsic!(|scope| {
        let text = format!(
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned \
             [$1], [$0], {TENSOR_MAP_BYTES};"
        );
        let asm = Asm {
            text: &text,
            constraints: "r,l,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![map.read_value(scope), target.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Lets this thread's copies use the map at global `map`, which was published before.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn acquire_map(map: u64) {
    intrinsic!(|scope| {
        let text = format!("fence.proxy.tensormap::generic.acquire.gpu [$0], {TENSOR_MAP_BYTES};");
        let asm = Asm {
            text: &text,
            constraints: "l,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![map.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}
