//! `cp.async`: 16-byte copies from global to shared memory that bypass registers and L1 (SM80).
//!
//! PTX ISA, "Data Movement and Conversion Instructions: cp.async".

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Bytes that one copy moves; source and destination must be multiples of it.
pub const COPY_BYTES: u32 = 16;

/// Starts a copy of 16 bytes from global `source + source_offset` to shared
/// `target + target_offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn copy_async(
    target: u32,
    source: u64,
    #[comptime] target_offset: u32,
    #[comptime] source_offset: u32,
) {
    intrinsic!(|scope| {
        let text = format!(
            "cp.async.cg.shared.global.L2::128B [$0+{target_offset}], [$1+{source_offset}], {COPY_BYTES};"
        );
        let operands = vec![target.read_value(scope), source.read_value(scope)];
        let asm = Asm {
            text: &text,
            constraints: "r,l,~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], operands);
    })
}

/// [`copy_async()`] that reads only the first `bytes` (0 to 16) of the source and fills the rest of
/// the target with zeros. With 0 the source is not touched.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn copy_async_zero_fill(
    target: u32,
    source: u64,
    bytes: u32,
    #[comptime] target_offset: u32,
    #[comptime] source_offset: u32,
) {
    intrinsic!(|scope| {
        let text = format!(
            "cp.async.cg.shared.global.L2::128B [$0+{target_offset}], [$1+{source_offset}], {COPY_BYTES}, $2;"
        );
        let operands = vec![
            target.read_value(scope),
            source.read_value(scope),
            bytes.read_value(scope),
        ];
        let asm = Asm {
            text: &text,
            constraints: "r,l,r,~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], operands);
    })
}

/// Closes the group of this thread's copies started since the last commit.
#[cube]
pub fn commit_group() {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "cp.async.commit_group;",
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Waits until at most `pending` of this thread's committed groups are still in flight.
///
/// Other threads' copies need a barrier after this.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn wait_group(#[comptime] pending: u32) {
    intrinsic!(|scope| {
        let text = format!("cp.async.wait_group {pending};");
        let asm = Asm {
            text: &text,
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}
