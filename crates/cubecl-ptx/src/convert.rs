//! Conversion of f32 pairs to packed 16-bit registers, and back (SM80).
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

/// Two neighbouring f32.
#[derive(CubeType, Clone, Copy)]
pub struct Pair {
    /// The first: of a packed register, bits 0 to 15.
    pub low: f32,
    /// The second: of a packed register, bits 16 to 31.
    pub high: f32,
}

/// The two elements of a packed register; exact.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn unpack_half2(pair: u32, #[comptime] ty: HalfType) -> Pair {
    intrinsic!(|scope| {
        // A bf16 is the upper half of an f32; `cvt` knows it from SM90 on only.
        let text = match ty {
            HalfType::F16 => {
                "{ .reg .b16 l, h; mov.b32 {l, h}, $2; cvt.f32.f16 $0, l; cvt.f32.f16 $1, h; }"
            }
            HalfType::Bf16 => {
                "{ .reg .b32 l, h; shl.b32 l, $2, 16; and.b32 h, $2, 0xffff0000; \
                 mov.b32 $0, l; mov.b32 $1, h; }"
            }
        };
        let asm = Asm {
            text,
            constraints: "=f,=f,r",
            effect: Effect::Pure,
        };
        let float = f32::__expand_as_type(scope);
        let operands = vec![pair.read_value(scope)];
        let r = emit(scope, asm, vec![float; 2], operands);
        PairExpand {
            low: r[0].into(),
            high: r[1].into(),
        }
    })
}
