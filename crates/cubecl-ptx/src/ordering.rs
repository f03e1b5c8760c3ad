//! Loads and stores in global memory by which one cube (CTA) sees what another has done before.
//!
//! PTX ISA, "Memory Consistency Model: Release and Acquire Patterns".

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Loads 4 bytes that another cube (CTA) may store, from global `address + offset`. Who sees a value of
/// [`store_global_release()`] sees all that the storing thread had seen or done before it.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_global_acquire(address: u64, #[comptime] offset: u32) -> u32 {
    intrinsic!(|scope| {
        let text = format!("ld.acquire.gpu.global.b32 $0, [$1+{offset}];");
        let asm = Asm {
            text: &text,
            constraints: "=r,l,~{memory}",
            effect: Effect::Memory,
        };
        let ty = u32::__expand_as_type(scope);
        let operands = vec![address.read_value(scope)];
        emit(scope, asm, vec![ty], operands)[0].into()
    })
}

/// Stores 4 bytes to global `address + offset`, after all that this thread has seen or done before; see
/// [`load_global_acquire()`].
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn store_global_release(address: u64, #[comptime] offset: u32, value: u32) {
    intrinsic!(|scope| {
        let text = format!("st.release.gpu.global.b32 [$0+{offset}], $1;");
        let asm = Asm {
            text: &text,
            constraints: "l,r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![address.read_value(scope), value.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}
