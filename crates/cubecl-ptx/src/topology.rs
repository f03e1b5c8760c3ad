//! Positions that are read anew at each call, and values that the compiler can't see through.
//!
//! LLVM keeps what it has computed, and moves what does not change out of loops, whatever that
//! costs in registers. In a kernel that needs all of them, reading a position again is cheaper than
//! keeping everything that was derived from it.

use crate::op::{Asm, Effect, emit, emit_word};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// The unit's position in its cube along x (`%tid.x`), read here and now.
#[cube]
pub fn unit_position() -> u32 {
    intrinsic!(|scope| { emit_word(scope, "mov.u32 $0, %tid.x;", vec![]).into() })
}

/// The cube's position in the grid along x (`%ctaid.x`), read here and now.
#[cube]
pub fn cube_position() -> u32 {
    intrinsic!(|scope| { emit_word(scope, "mov.u32 $0, %ctaid.x;", vec![]).into() })
}

/// Cubes of the grid along x (`%nctaid.x`), read here and now.
#[cube]
pub fn cube_count() -> u32 {
    intrinsic!(|scope| { emit_word(scope, "mov.u32 $0, %nctaid.x;", vec![]).into() })
}

/// `x`, of which the compiler knows nothing: what follows from it is computed where it is used.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn opaque(x: u32) -> u32 {
    intrinsic!(|scope| { emit_word(scope, "mov.b32 $0, $1;", vec![x.read_value(scope)]).into() })
}

/// Nothing at run time, but a mark by which branches differ: what two branches with other marks begin with
/// is not moved ahead of them as their common part.
///
/// A branch that starts with its own copy of the code is one block to the assembler, which then mixes
/// all of its instructions.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn mark_branch(#[comptime] mark: u32) {
    intrinsic!(|scope| {
        let text = format!("// branch {mark}");
        let asm = Asm {
            text: &text,
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}
