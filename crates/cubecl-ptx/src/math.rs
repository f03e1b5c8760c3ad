//! f32 arithmetic that LLVM would not choose by itself: approximations, fused and flush-to-zero.
//!
//! PTX ISA, "Floating Point Instructions". All flush subnormals to zero (`.ftz`).

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::ir::Scope;
use cubecl::prelude::*;

/// Emits a pure f32 instruction `name $0, $1, ...`.
fn emit_f32(
    scope: &Scope,
    name: &str,
    operands: Vec<cubecl::ir::prelude::Value>,
) -> cubecl::ir::prelude::Value {
    let list: Vec<String> = (0..=operands.len()).map(|i| format!("${i}")).collect();
    let text = format!("{name} {};", list.join(", "));
    let constraints = format!("=f{}", ",f".repeat(operands.len()));
    let asm = Asm {
        text: &text,
        constraints: &constraints,
        effect: Effect::Pure,
    };
    let ty = f32::__expand_as_type(scope);
    emit(scope, asm, vec![ty], operands)[0]
}

/// 2 to the power `x`; relative error at most 2 ULP, `exp2(-inf) = 0`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn exp2_approx(x: f32) -> f32 {
    intrinsic!(|scope| {
        let operands = vec![x.read_value(scope)];
        emit_f32(scope, "ex2.approx.ftz.f32", operands).into()
    })
}

/// Logarithm of `x` to base 2; absolute error 2^-22 on [0.5, 2], relative 2^-22 elsewhere;
/// `log2(0) = -inf`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn log2_approx(x: f32) -> f32 {
    intrinsic!(|scope| {
        let operands = vec![x.read_value(scope)];
        emit_f32(scope, "lg2.approx.ftz.f32", operands).into()
    })
}

/// `1 / x` within 1 ULP.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn reciprocal_approx(x: f32) -> f32 {
    intrinsic!(|scope| {
        let operands = vec![x.read_value(scope)];
        emit_f32(scope, "rcp.approx.ftz.f32", operands).into()
    })
}

/// `a b + c` with one rounding. LLVM keeps `*` and `+` apart, and so does ptxas.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    intrinsic!(|scope| {
        let operands = vec![
            a.read_value(scope),
            b.read_value(scope),
            c.read_value(scope),
        ];
        emit_f32(scope, "fma.rn.ftz.f32", operands).into()
    })
}

/// The larger of `a` and `b`; the other one where one is NaN.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn max(a: f32, b: f32) -> f32 {
    intrinsic!(|scope| {
        let operands = vec![a.read_value(scope), b.read_value(scope)];
        emit_f32(scope, "max.ftz.f32", operands).into()
    })
}
