//! Pointers as integer addresses.

use crate::op::{Space, emit_address};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Address of the first element of `slice` in the shared window, in bytes.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn shared_address<T: CubePrimitive>(slice: &mut [T]) -> u32 {
    intrinsic!(|scope| {
        // SAFETY: the pointer is only turned into an integer, never read through here.
        let pointer = unsafe { *slice.__expand_as_ptr_method(scope) }.value(scope);
        let ty = u32::__expand_as_type(scope);
        emit_address(scope, Space::Shared, ty, pointer).into()
    })
}

/// Address of the first element of `slice` in global memory, in bytes.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn global_address<T: CubePrimitive>(slice: &[T]) -> u64 {
    intrinsic!(|scope| {
        // SAFETY: the pointer is only turned into an integer, never read through here.
        let pointer = unsafe { *slice.__expand_as_ptr_method(scope) }.value(scope);
        let ty = u64::__expand_as_type(scope);
        emit_address(scope, Space::Global, ty, pointer).into()
    })
}

/// [`global_address()`] of a slice that is written through the address.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn global_address_mut<T: CubePrimitive>(slice: &mut [T]) -> u64 {
    intrinsic!(|scope| {
        // SAFETY: the pointer is only turned into an integer, never read through here.
        let pointer = unsafe { *slice.__expand_as_ptr_method(scope) }.value(scope);
        let ty = u64::__expand_as_type(scope);
        emit_address(scope, Space::Global, ty, pointer).into()
    })
}
