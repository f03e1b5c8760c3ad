//! Loads and stores by address: shared words and 16-byte vectors, global words and vectors.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: ld, st".

use crate::access::{emit_load, emit_store};
use crate::convert::{Pair, PairExpand};
use crate::matrix::{Accumulator4, Accumulator4Expand, Registers4, Registers4Expand};
use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Stores 4 bytes to shared `address + offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn store_shared(address: u32, #[comptime] offset: u32, value: u32) {
    intrinsic!(|scope| {
        let address = address.read_value(scope);
        let values = [value.read_value(scope)];
        emit_store(
            scope,
            "st.shared.b32",
            "r,r,~{memory}",
            offset,
            address,
            values,
        );
    })
}

/// Loads 4 bytes from shared `address + offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_shared(address: u32, #[comptime] offset: u32) -> u32 {
    intrinsic!(|scope| {
        let ty = u32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [value] = emit_load(
            scope,
            "ld.shared.b32",
            "=r,r,~{memory}",
            offset,
            ty,
            address,
        );
        value.into()
    })
}

/// Loads 16 bytes from shared `address + offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_shared_x4(address: u32, #[comptime] offset: u32) -> Registers4 {
    intrinsic!(|scope| {
        let ty = u32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [x, y, z, w] = emit_load(
            scope,
            "ld.shared.v4.b32",
            "=r,=r,=r,=r,r,~{memory}",
            offset,
            ty,
            address,
        );
        Registers4Expand {
            x: x.into(),
            y: y.into(),
            z: z.into(),
            w: w.into(),
        }
    })
}

/// Stores 16 bytes to global `address + offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn store_global_x4(address: u64, #[comptime] offset: u32, value: Registers4) {
    intrinsic!(|scope| {
        let address = address.read_value(scope);
        let values = [
            value.x.read_value(scope),
            value.y.read_value(scope),
            value.z.read_value(scope),
            value.w.read_value(scope),
        ];
        emit_store(
            scope,
            "st.global.v4.b32",
            "l,r,r,r,r,~{memory}",
            offset,
            address,
            values,
        );
    })
}

/// Stores an f32 to global `address`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn store_global_f32(address: u64, value: f32) {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "st.global.f32 [$0], $1;",
            constraints: "l,f,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![address.read_value(scope), value.read_value(scope)];
        emit(scope, asm, vec![], operands);
    })
}

/// Loads four f32 from shared `address + offset`, a multiple of 16.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_shared_f32_x4(address: u32, #[comptime] offset: u32) -> Accumulator4 {
    intrinsic!(|scope| {
        let ty = f32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [x, y, z, w] = emit_load(
            scope,
            "ld.shared.v4.f32",
            "=f,=f,=f,=f,r,~{memory}",
            offset,
            ty,
            address,
        );
        Accumulator4Expand {
            x: x.into(),
            y: y.into(),
            z: z.into(),
            w: w.into(),
        }
    })
}

/// Stores four f32 to shared `address + offset`, a multiple of 16.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn store_shared_f32_x4(address: u32, #[comptime] offset: u32, values: &Accumulator4) {
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
            "st.shared.v4.f32",
            "r,f,f,f,f,~{memory}",
            offset,
            address,
            values,
        );
    })
}

/// Loads two f32, neighbours, from shared `address + offset`, a multiple of 8.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_shared_f32_x2(address: u32, #[comptime] offset: u32) -> Pair {
    intrinsic!(|scope| {
        let ty = f32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [low, high] = emit_load(
            scope,
            "ld.shared.v2.f32",
            "=f,=f,r,~{memory}",
            offset,
            ty,
            address,
        );
        PairExpand {
            low: low.into(),
            high: high.into(),
        }
    })
}

/// Loads 16 bytes from global `address + offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_global_x4(address: u64, #[comptime] offset: u32) -> Registers4 {
    intrinsic!(|scope| {
        let ty = u32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [x, y, z, w] = emit_load(
            scope,
            "ld.global.v4.b32",
            "=r,=r,=r,=r,l,~{memory}",
            offset,
            ty,
            address,
        );
        Registers4Expand {
            x: x.into(),
            y: y.into(),
            z: z.into(),
            w: w.into(),
        }
    })
}

/// Loads an f32 from global `address + offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_global_f32(address: u64, #[comptime] offset: u32) -> f32 {
    intrinsic!(|scope| {
        let ty = f32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [value] = emit_load(
            scope,
            "ld.global.f32",
            "=f,l,~{memory}",
            offset,
            ty,
            address,
        );
        value.into()
    })
}

/// Loads four f32 from global `address + offset`, a multiple of 16.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn load_global_f32_x4(address: u64, #[comptime] offset: u32) -> Accumulator4 {
    intrinsic!(|scope| {
        let ty = f32::__expand_as_type(scope);
        let address = address.read_value(scope);
        let [x, y, z, w] = emit_load(
            scope,
            "ld.global.v4.f32",
            "=f,=f,=f,=f,l,~{memory}",
            offset,
            ty,
            address,
        );
        Accumulator4Expand {
            x: x.into(),
            y: y.into(),
            z: z.into(),
            w: w.into(),
        }
    })
}

/// Stores 4 bytes to global `address + offset`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn store_global(address: u64, #[comptime] offset: u32, value: u32) {
    intrinsic!(|scope| {
        let address = address.read_value(scope);
        let values = [value.read_value(scope)];
        emit_store(
            scope,
            "st.global.b32",
            "l,r,~{memory}",
            offset,
            address,
            values,
        );
    })
}
