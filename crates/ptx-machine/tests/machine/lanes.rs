//! Lanes exchange values, which takes all of them.

use crate::kernel::{computes, is_caught};
use ptx_machine::ViolationKind;

#[test]
fn shuffles_and_votes_exchange_lanes() {
    computes(
        "shfl.sync.bfly.b32 %r4, %r1, 3, 31, -1;
        setp.lt.u32 %p1, %r1, 32; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r5, 100, 200, %p2;
        add.s32 %r4, %r4, %r5; st.global.b32 [%rd5], %r4; ret;",
        |i| (i ^ 3) + if i < 32 { 100 } else { 200 },
    );
}

#[test]
fn warp_instructions_of_some_lanes_are_caught() {
    is_caught(
        "and.b32 %r4, %r1, 1; setp.eq.s32 %p1, %r4, 0;
        @%p1 bra $end; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;
        $end: ret;",
        |kind| {
            matches!(
                kind,
                ViolationKind::MissingLanes {
                    found: 0xaaaa_aaaa,
                    ..
                }
            )
        },
    );
    is_caught(
        "and.b32 %r4, %r1, 1; setp.eq.s32 %p1, %r4, 0;
        @%p1 bra.uni $end; nop_target: mov.b32 %r4, 0;
        $end: ret;",
        |kind| matches!(kind, ViolationKind::DivergentUniformBranch),
    );
}
