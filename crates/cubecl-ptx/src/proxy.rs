//! `fence.proxy`: between a thread's own accesses and those of asynchronous units (SM90).
//!
//! PTX ISA, "Memory Consistency Model: Proxies". Products and bulk copies reach shared memory by a way of
//! their own: what a thread has stored is seen there only behind a fence.

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Makes this thread's stores to shared memory visible to the products and bulk copies that a barrier
/// orders after it.
#[cube]
pub fn fence_shared_async() {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "fence.proxy.async.shared::cta;",
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}
