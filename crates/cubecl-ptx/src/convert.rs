//! Conversion of f32 pairs to packed 16-bit registers (SM80).
//!
//! PTX ISA, "Data Movement and Conversion Instructions: cvt".

use crate::matrix::HalfType;
use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Rounds `low` and `high` to nearest even and packs them, `low` in bits 0 to 15.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn pack_half2(low: f32, high: f32, #[comptime] ty: HalfType) -> u32 {
    intrinsic!(|scope| {
        let text = format!("cvt.rn.{}x2.f32 $0, $1, $2;", ty.ptx());
        let asm = Asm {
            text: &text,
            constraints: "=r,f,f",
            effect: Effect::Pure,
        };
        let ty = u32::__expand_as_type(scope);
        // The instruction takes the upper half first.
        let operands = vec![high.read_value(scope), low.read_value(scope)];
        emit(scope, asm, vec![ty], operands)[0].into()
    })
}
