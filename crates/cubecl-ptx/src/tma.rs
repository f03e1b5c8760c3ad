//! `cp.async.bulk`: bytes, and boxes of a tensor, into shared memory by the tensor memory accelerator
//! (SM90).
//!
//! PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk, cp.async.bulk.tensor". What a box
//! is stands in a tensor map of 128 bytes ([`tensor_map`](crate::tensor_map)).
//!
//! The target is named `.shared::cta`, not the older `.shared::cluster`, and that is more than taste: it needs
//! PTX 8.6. Assemblers before CUDA 12.5 take the strides of a map that a kernel makes in units of 16 bytes
//! where later ones take bytes ([`set_map_stride()`](crate::tensor_map::set_map_stride())). CubeCL emits the PTX
//! version of the driver, whose assembler it is: one that old gets 8.4 at most and refuses the kernel, which
//! else would read the wrong memory.

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Where a box of a tensor of four dimensions begins, in elements, innermost first.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Coordinates4 {
    /// Innermost, contiguous.
    pub x: u32,
    /// Second.
    pub y: u32,
    /// Third.
    pub z: u32,
    /// Outermost.
    pub w: u32,
}

/// Starts the copy of the box at `from` of the tensor of `map` to shared `target + offset`, whose bytes
/// the barrier at shared `barrier + barrier_offset` counts. One thread does it.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_box(
    map: u64,
    from: &Coordinates4,
    target: u32,
    #[comptime] offset: u32,
    barrier: u32,
    #[comptime] barrier_offset: u32,
) {
    intrinsic!(|scope| {
        let text = format!(
            "{{ .reg .b32 target, barrier; add.u32 target, $5, {offset}; \
             add.u32 barrier, $6, {barrier_offset}; \
             cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes \
             [target], [$0, {{$1, $2, $3, $4}}], [barrier]; }}"
        );
        let asm = Asm {
            text: &text,
            constraints: "l,r,r,r,r,r,r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![
            map.read_value(scope),
            from.x.read_value(scope),
            from.y.read_value(scope),
            from.z.read_value(scope),
            from.w.read_value(scope),
            target.read_value(scope),
            barrier.read_value(scope),
        ];
        emit(scope, asm, vec![], operands);
    })
}

/// Starts the copy of `bytes` bytes, a multiple of 16, from global `source` to shared `target`, both
/// multiples of 16; the barrier at shared `barrier + barrier_offset` counts them. One thread does it.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_bytes(
    source: u64,
    target: u32,
    #[comptime] bytes: u32,
    barrier: u32,
    #[comptime] barrier_offset: u32,
) {
    intrinsic!(|scope| {
        let text = format!(
            "{{ .reg .b32 barrier; add.u32 barrier, $2, {barrier_offset}; \
             cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes \
             [$1], [$0], {bytes}, [barrier]; }}"
        );
        let asm = Asm {
            text: &text,
            constraints: "l,r,r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![
            source.read_value(scope),
            target.read_value(scope),
            barrier.read_value(scope),
        ];
        emit(scope, asm, vec![], operands);
    })
}
