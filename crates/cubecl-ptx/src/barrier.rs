//! Named barriers: `bar.sync` and `bar.arrive` for some of a cube's planes (SM70).
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: barrier, bar". A cube (CTA) has
//! 16 barriers; number 0 is the one of `sync_cube`. A barrier opens when `threads` have arrived, those
//! that wait and those that don't together, and is then as new.

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Arrives at barrier `id` and waits until `threads`, a multiple of 32, have arrived.
///
/// Orders memory accesses of those that arrive before it and of those that wait after it.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn barrier_sync(id: u32, #[comptime] threads: u32) {
    intrinsic!(|scope| {
        let text = format!("bar.sync $0, {threads};");
        let asm = Asm {
            text: &text,
            constraints: "r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![id.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Arrives at barrier `id` without waiting; `threads` as for [`barrier_sync()`].
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn barrier_arrive(id: u32, #[comptime] threads: u32) {
    intrinsic!(|scope| {
        let text = format!("bar.arrive $0, {threads};");
        let asm = Asm {
            text: &text,
            constraints: "r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![id.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}
