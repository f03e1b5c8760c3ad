//! `cp.async.bulk`: bytes, and boxes of a tensor, into shared memory by the tensor memory accelerator
//! (SM90), and sums of f32 out of it.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk".
//! What a box is stands in a tensor map of 128 bytes ([`tensor_map`](crate::tensor_map)).
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

/// Starts the addition of `bytes` bytes of f32 at shared `source` to those at global `target`: both addresses and
/// `bytes` are multiples of 16. Each sum is a step of its own, as by
/// [`add_global_f32_x4()`](crate::atomic::add_global_f32_x4()). The addition belongs to this thread's open group of
/// bulk copies, which [`commit_bulk()`] closes.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn add_bytes_f32(source: u32, target: u64, #[comptime] bytes: u32) {
    intrinsic!(|scope| {
        let text = format!(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$1], [$0], {bytes};"
        );
        let asm = Asm {
            text: &text,
            constraints: "r,l,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![source.read_value(scope), target.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Closes this thread's open group of bulk copies out of shared memory.
#[cube]
pub fn commit_bulk() {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "cp.async.bulk.commit_group;",
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Waits until all but the last `pending` groups of this thread have read shared memory.
#[cube]
pub fn wait_bulk_read(#[comptime] pending: u32) {
    intrinsic!(|scope| {
        let text = format!("cp.async.bulk.wait_group.read {pending};");
        let asm = Asm {
            text: &text,
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}
