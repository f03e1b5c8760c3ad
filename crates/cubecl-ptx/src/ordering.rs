//! Loads and stores in global memory by which one cube (CTA) sees what another has done before.
//!
//! PTX ISA, "Memory Consistency Model: Release and Acquire Patterns".

use crate::access::{emit_load, emit_store};
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
        let ty = u32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [value] = emit_load(
            scope,
            "ld.acquire.gpu.global.b32",
            "=r,l,~{memory}",
            offset,
            ty,
            address,
        );
        value.into()
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
        let address = address.read_value(scope);
        let values = [value.read_value(scope)];
        emit_store(
            scope,
            "st.release.gpu.global.b32",
            "l,r,~{memory}",
            offset,
            address,
            values,
        );
    })
}
