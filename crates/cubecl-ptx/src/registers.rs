//! `setmaxnreg`: warpgroups of one cube (CTA) that share out its registers anew (SM90, sm_90a only).
//!
//! PTX ISA, "Miscellaneous Instructions: setmaxnreg". All warps of a warpgroup execute it, in control
//! flow that no two warpgroups of different fates share.

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Gives back registers until each thread has `count` left: 24 to 256 in steps of 8.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn release_registers(#[comptime] count: u32) {
    intrinsic!(|scope| {
        let text = format!("setmaxnreg.dec.sync.aligned.u32 {count};");
        let asm = Asm {
            text: &text,
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Waits for registers until each thread has `count`: 24 to 256 in steps of 8.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn claim_registers(#[comptime] count: u32) {
    intrinsic!(|scope| {
        let text = format!("setmaxnreg.inc.sync.aligned.u32 {count};");
        let asm = Asm {
            text: &text,
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}
