//! `mbarrier`: barriers in shared memory that count arrivals and bytes of asynchronous copies (SM90).
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". A barrier is 8 bytes,
//! 8-byte aligned. It goes through phases: one ends when the expected arrivals and bytes have all
//! come. Phases are told apart by parity: the first has parity 0, the one before it counts as 1.

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Bytes of a barrier.
pub const MBARRIER_BYTES: u32 = 8;

/// Starts the first phase of the barrier at shared `address + offset`, which ends after `arrivals`.
///
/// Other threads and asynchronous copies may use it after [`mbarrier_init_fence()`] and a barrier of
/// the cube.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn mbarrier_init(address: u32, #[comptime] offset: u32, #[comptime] arrivals: u32) {
    intrinsic!(|scope| {
        let text = format!("mbarrier.init.shared::cta.b64 [$0+{offset}], {arrivals};");
        let asm = Asm {
            text: &text,
            constraints: "r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![address.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Makes this thread's initialised barriers visible to asynchronous copies.
///
/// PTX ISA, "membar, fence".
#[cube]
pub fn mbarrier_init_fence() {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "fence.mbarrier_init.release.cluster;",
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Arrives once, and lets the phase expect `bytes` of asynchronous copies more.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn mbarrier_expect(address: u32, #[comptime] offset: u32, #[comptime] bytes: u32) {
    intrinsic!(|scope| {
        let text = format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0+{offset}], {bytes};");
        let asm = Asm {
            text: &text,
            constraints: "r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![address.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Arrives once: this thread's accesses before it come before those of a thread that waits for the
/// phase.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn mbarrier_arrive(address: u32, #[comptime] offset: u32) {
    intrinsic!(|scope| {
        let text = format!("mbarrier.arrive.shared::cta.b64 _, [$0+{offset}];");
        let asm = Asm {
            text: &text,
            constraints: "r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![address.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Waits until the phase of parity `parity` has ended.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn mbarrier_wait(address: u32, #[comptime] offset: u32, parity: u32) {
    intrinsic!(|scope| {
        // Labels are local to the braces, so the text may stand in a kernel many times.
        let text = format!(
            "{{ .reg .pred done; WAIT: \
             mbarrier.try_wait.parity.shared::cta.b64 done, [$0+{offset}], $1; \
             @done bra DONE; bra WAIT; DONE: }}"
        );
        let asm = Asm {
            text: &text,
            constraints: "r,r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![address.read_value(scope), parity.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}
