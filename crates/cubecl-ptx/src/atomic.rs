//! Sums in global memory, by address.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red".

use crate::access::emit_store;
use crate::matrix::Accumulator4;
use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Adds `value` to the f32 at global `address + offset`, as one step that no other thread's addition
/// can part. In which order additions to one address happen is open, and so is the rounding of
/// their sum.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn add_global_f32(address: u64, #[comptime] offset: u32, value: f32) {
    intrinsic!(|scope| {
        let address = address.read_value(scope);
        let values = [value.read_value(scope)];
        emit_store(
            scope,
            "red.global.add.f32",
            "l,f,~{memory}",
            offset,
            address,
            values,
        );
    })
}

/// [`add_global_f32()`] of four neighbours at a multiple of 16, each a step of its own. Needs SM90.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn add_global_f32_x4(address: u64, #[comptime] offset: u32, values: &Accumulator4) {
    intrinsic!(|scope| {
        let address = address.read_value(scope);
        let values = [
            values.x.read_value(scope),
            values.y.read_value(scope),
            values.z.read_value(scope),
            values.w.read_value(scope),
        ];
        emit_store(
            scope,
            "red.global.add.v4.f32",
            "l,f,f,f,f,~{memory}",
            offset,
            address,
            values,
        );
    })
}

/// Adds `value` to the 4-byte number at global `address + offset`, as one step that no other thread's can part:
/// what it was before. It wraps.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn fetch_add_global(address: u64, #[comptime] offset: u32, value: u32) -> u32 {
    intrinsic!(|scope| {
        let text = format!("atom.relaxed.gpu.global.add.u32 $0, [$1+{offset}], $2;");
        let asm = Asm {
            text: &text,
            constraints: "=r,l,r,~{memory}",
            effect: Effect::Memory,
        };
        let ty = u32::__expand_as_type(scope);
        let operands = vec![address.read_value(scope), value.read_value(scope)];
        emit(scope, asm, vec![ty], operands)[0].into()
    })
}
