//! Branches and loops: lanes part, and meet again.

use crate::kernel::{computes, is_caught};
use ptx_machine::ViolationKind;

#[test]
fn both_sides_of_a_branch_run_and_meet() {
    computes(
        "and.b32 %r4, %r1, 1; setp.eq.s32 %p1, %r4, 0;
        @%p1 bra $even;
        mul.lo.s32 %r5, %r1, 10; bra.uni $end;
        $even: mov.b32 %r5, 7;
        $end: bar.sync 0;
        st.global.b32 [%rd5], %r5; ret;",
        |i| if i % 2 == 0 { 7 } else { 10 * i },
    );
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    computes(
        "mov.b32 %r4, 0; mov.b32 %r5, 0;
        $top: setp.ge.u32 %p1, %r4, %r1; @%p1 bra $end;
        add.s32 %r5, %r5, %r4; add.s32 %r4, %r4, 1; bra.uni $top;
        $end: st.global.b32 [%rd5], %r5; ret;",
        |i| (0..i).sum(),
    );
}

/// Where the guard is one of the two results, both are computed under the old guard.
#[test]
fn a_guard_that_its_instruction_writes_holds_for_both_results() {
    computes(
        "setp.lt.u32 %p1, %r1, 32; setp.lt.u32 %p2, %r1, 0;
        @%p1 setp.lt.u32 %p1|%p2, %r1, 16;
        selp.b32 %r4, 1, 0, %p1; selp.b32 %r5, 2, 0, %p2;
        add.s32 %r4, %r4, %r5; st.global.b32 [%rd5], %r4; ret;",
        |i| match i {
            0..16 => 1,
            16..32 => 2,
            _ => 0,
        },
    );
}

#[test]
fn a_loop_without_end_is_caught() {
    is_caught("$top: bra.uni $top; ret;", |kind| {
        matches!(kind, ViolationKind::TooLong { limit: 10_000 })
    });
}
