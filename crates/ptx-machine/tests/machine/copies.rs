//! Asynchronous copies, with and without what makes their data arrive.

use crate::kernel::{computes, is_caught};
use ptx_machine::ViolationKind;

#[test]
fn copies_arrive_at_their_wait() {
    let copy = "shl.b32 %r4, %r3, 2;
        setp.ge.u32 %p1, %r1, 16; @%p1 bra $done;
        cvt.u32.u64 %r5, %rd6; add.s32 %r5, %r5, %r4; mul.wide.u32 %rd7, %r1, 16; add.s64 %rd7, %rd1, %rd7;
        cp.async.cg.shared.global [%r5], [%rd7], 16, BYTES;
        cp.async.commit_group; WAIT
        $done: BARRIER
        ld.shared.b32 %r6, [%r2]; st.global.b32 [%rd5], %r6; ret;";
    let with = |bytes: &str, wait: &str, barrier: &str| {
        copy.replace("BYTES", bytes)
            .replace("WAIT", wait)
            .replace("BARRIER", barrier)
    };
    let wait = "cp.async.wait_group 0;";
    computes(&with("16", wait, "bar.sync 0;"), |i| i);
    // The bytes that are not read become zero.
    let zeroed = |i| if i % 4 < 2 { i } else { 0 };
    computes(&with("8", wait, "bar.sync 0;"), zeroed);
    is_caught(&with("16", "", "bar.sync 0;"), |kind| {
        matches!(kind, ViolationKind::InFlight { .. })
    });
    is_caught(
        &with("16", "cp.async.wait_group 1;", "bar.sync 0;"),
        |kind| matches!(kind, ViolationKind::LeakedCopy),
    );
    is_caught(&with("16", wait, ""), |kind| {
        matches!(
            kind,
            ViolationKind::Race { .. }
                | ViolationKind::InFlight { .. }
                | ViolationKind::UninitializedMemory
        )
    });
}

/// Copies of 4, 8 and 16 bytes through every cache level, whole and cut: what is cut becomes zero.
#[test]
fn copies_of_every_size_arrive_whole_or_cut() {
    for (bytes, size) in [(4, 4), (8, 8), (16, 16), (4, 2), (8, 4), (16, 0), (16, 12)] {
        for source in [String::new(), format!(", {size}")] {
            let read = if source.is_empty() { bytes } else { size };
            let threads = 256 / bytes;
            computes(
                &format!(
                    "setp.ge.u32 %p1, %r1, {threads}; @%p1 bra $done;
                    mul.lo.u32 %r4, %r1, {bytes}; cvt.u32.u64 %r5, %rd6; add.s32 %r5, %r5, %r4;
                    mul.wide.u32 %rd7, %r1, {bytes}; add.s64 %rd7, %rd1, %rd7;
                    cp.async.ca.shared.global [%r5], [%rd7], {bytes}{source};
                    cp.async.wait_all;
                    $done: bar.sync 0;
                    ld.shared.b32 %r6, [%r2]; st.global.b32 [%rd5], %r6; ret;"
                ),
                |i| if 4 * i % bytes < read { i } else { 0 },
            );
        }
    }
}
