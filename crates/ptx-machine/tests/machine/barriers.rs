//! Barriers of blocks and of warps, and the races that one of them prevents.

use crate::kernel::{computes, is_caught};
use ptx_machine::ViolationKind;

#[test]
fn lanes_that_ended_take_no_part_in_a_barrier() {
    computes(
        "setp.ge.u32 %p1, %r1, 32; @%p1 ret;
        st.shared.b32 [%r2], %r1; bar.sync 0;
        ld.shared.b32 %r4, [%r2]; st.global.b32 [%rd5], %r4; ret;",
        |i| if i < 32 { i } else { 0 },
    );
}

#[test]
fn values_cross_between_warps_at_a_barrier() {
    let reversed = "st.shared.b32 [%r2], %r1;
        BARRIER
        sub.s32 %r4, 63, %r1; shl.b32 %r4, %r4, 2; cvt.u32.u64 %r5, %rd6; add.s32 %r4, %r4, %r5;
        ld.shared.b32 %r6, [%r4]; st.global.b32 [%rd5], %r6; ret;";
    computes(&reversed.replace("BARRIER", "bar.sync 0;"), |i| 63 - i);
    // Without it, whoever is first reads nothing, or races.
    is_caught(&reversed.replace("BARRIER", ""), |kind| {
        matches!(
            kind,
            ViolationKind::UninitializedMemory | ViolationKind::Race { .. }
        )
    });
}

#[test]
fn lanes_of_a_warp_need_a_barrier_too() {
    let neighbor = "st.shared.b32 [%r2], %r1;
        BARRIER
        xor.b32 %r4, %r3, 4; cvt.u32.u64 %r5, %rd6; add.s32 %r4, %r4, %r5;
        ld.shared.b32 %r6, [%r4]; st.global.b32 [%rd5], %r6; ret;";
    computes(&neighbor.replace("BARRIER", "bar.warp.sync -1;"), |i| i ^ 1);
    is_caught(&neighbor.replace("BARRIER", ""), |kind| {
        matches!(kind, ViolationKind::Race { .. })
    });
}

/// A barrier of sixteen lanes says nothing of the other sixteen.
#[test]
fn a_barrier_of_half_a_warp_does_not_order_the_other_half() {
    is_caught(
        "st.shared.b32 [%r2], %r1;
        and.b32 %r4, %r1, 16; setp.ne.s32 %p1, %r4, 0;
        @%p1 bra $rest; bar.warp.sync 65535;
        $rest: xor.b32 %r4, %r3, 64; cvt.u32.u64 %r5, %rd6; add.s32 %r4, %r4, %r5;
        ld.shared.b32 %r6, [%r4]; st.global.b32 [%rd5], %r6; ret;",
        |kind| matches!(kind, ViolationKind::Race { .. }),
    );
}

#[test]
fn a_barrier_in_one_side_of_a_branch_is_caught() {
    is_caught(
        "and.b32 %r4, %r1, 1; setp.eq.s32 %p1, %r4, 0;
        @%p1 bra $end; bar.sync 0;
        $end: ret;",
        |kind| matches!(kind, ViolationKind::DivergentBarrier),
    );
}

#[test]
fn a_barrier_that_nobody_else_reaches_is_caught() {
    is_caught(
        "setp.lt.u32 %p1, %r1, 32; @%p1 bra $one; bar.sync 2, 64; ret;
        $one: bar.sync 1, 64; ret;",
        |kind| matches!(kind, ViolationKind::Deadlock { .. }),
    );
}

#[test]
fn two_lanes_that_store_to_one_place_race() {
    is_caught(
        "cvt.u32.u64 %r4, %rd6; st.shared.b32 [%r4], %r1; ret;",
        |kind| {
            matches!(
                kind,
                ViolationKind::Race {
                    first: "write",
                    second: "write",
                    ..
                }
            )
        },
    );
}

/// A barrier with a number and a count is for those warps alone: here each waits at its own.
#[test]
fn a_barrier_of_some_warps_orders_them() {
    computes(
        "shr.u32 %r4, %r1, 5; add.u32 %r4, %r4, 1;
        st.shared.b32 [%r2], %r1; bar.sync %r4, 32;
        xor.b32 %r5, %r3, 4; cvt.u32.u64 %r6, %rd6; add.s32 %r5, %r5, %r6;
        ld.shared.b32 %r7, [%r5]; st.global.b32 [%rd5], %r7; ret;",
        |i| i ^ 1,
    );
}
