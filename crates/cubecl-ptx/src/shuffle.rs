//! `shfl.sync`, `redux.sync` and `vote.sync`: exchange of registers and votes inside a plane (warp).
//!
//! PTX ISA, "Data Movement and Conversion Instructions: shfl.sync"; "Parallel Synchronization
//! and Communication Instructions: redux.sync, vote.sync".

use crate::op::{Asm, Effect, emit, emit_word};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// The value of `x` in the lane whose number differs in the bits of `mask`.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn shuffle_xor(x: f32, #[comptime] mask: u32) -> f32 {
    intrinsic!(|scope| {
        let text = format!("shfl.sync.bfly.b32 $0, $1, {mask}, 31, -1;");
        let asm = Asm {
            text: &text,
            constraints: "=f,f",
            effect: Effect::Memory,
        };
        let ty = f32::__expand_as_type(scope);
        let operands = vec![x.read_value(scope)];
        emit(scope, asm, vec![ty], operands)[0].into()
    })
}

/// [`shuffle_xor()`] of 32 bits of any kind.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn shuffle_xor_bits(x: u32, #[comptime] mask: u32) -> u32 {
    intrinsic!(|scope| {
        let text = format!("shfl.sync.bfly.b32 $0, $1, {mask}, 31, -1;");
        emit_word(scope, &text, vec![x.read_value(scope)]).into()
    })
}

/// The value of `x` in lane 0, for all lanes: the compiler may keep it once for the plane. The assembler has the lanes
/// compute what follows from it.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn uniform(x: u32) -> u32 {
    intrinsic!(|scope| {
        emit_word(
            scope,
            "shfl.sync.idx.b32 $0, $1, 0, 31, -1;",
            vec![x.read_value(scope)],
        )
        .into()
    })
}

/// `x`, which is the same in all lanes, in a uniform register, where `redux` leaves its result (SM80 and up). The assembler
/// computes what follows from it there too, matrix descriptors for example.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn uniform_register(x: u32) -> u32 {
    intrinsic!(|scope| {
        emit_word(
            scope,
            "redux.sync.or.b32 $0, $1, -1;",
            vec![x.read_value(scope)],
        )
        .into()
    })
}

/// Orders the plane's memory accesses before this point and after it (`bar.warp.sync`).
#[cube]
pub fn sync_warp() {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "bar.warp.sync -1;",
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Whether `x` is above `limit` in any lane of the plane. NaN is not.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn any_above(x: f32, limit: f32) -> bool {
    let vote = intrinsic_any_above(x, limit);
    vote != 0u32
}

#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
fn intrinsic_any_above(x: f32, limit: f32) -> u32 {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "{ .reg .pred p, q; setp.gt.ftz.f32 p, $1, $2; vote.sync.any.pred q, p, -1; \
                   selp.u32 $0, 1, 0, q; }",
            constraints: "=r,f,f",
            effect: Effect::Memory,
        };
        let ty = u32::__expand_as_type(scope);
        let operands = vec![x.read_value(scope), limit.read_value(scope)];
        emit(scope, asm, vec![ty], operands)[0].into()
    })
}
