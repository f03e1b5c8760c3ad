//! `shfl.sync`: exchange of registers inside a plane (warp).
//!
//! PTX ISA, "Data Movement and Conversion Instructions: shfl.sync".

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// The value of `x` in the lane whose number differs in the bits of `mask`.
#[cube]
#[allow(unused_variables, reason = "the body is an intrinsic: only its expansion exists")]
pub fn shuffle_xor(x: f32, #[comptime] mask: u32) -> f32 {
    intrinsic!(|scope| {
        let text = format!("shfl.sync.bfly.b32 $0, $1, {mask}, 31, -1;");
        let asm = Asm { text: &text, constraints: "=f,f", effect: Effect::Memory };
        let ty = f32::__expand_as_type(scope);
        let operands = vec![x.read_value(scope)];
        emit(scope, asm, vec![ty], operands)[0].into()
    })
}
