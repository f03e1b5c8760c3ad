//! Small kernels: what they compute, and what the checks say of broken ones.

use ptx_machine::{GlobalMemory, Launch, LaunchError, Measures, Module, ViolationKind};

/// Threads of the kernels here.
const THREADS: u32 = 64;

/// A kernel `k(u64 source, u64 result)` with some registers and 1 KiB of shared memory.
fn module(body: &str) -> Module {
    Module::parse(&format!(
        ".version 9.0
            .target sm_80
            .address_size 64
        .shared .align 16 .b8 tile[1024];
        .visible .entry k(.param .u64 source, .param .u64 result) {{
        .reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
        ld.param.b64 %rd1, [source];
        ld.param.b64 %rd2, [result];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
        mov.b64 %rd6, tile; cvt.u32.u64 %r2, %rd6;
        shl.b32 %r3, %r1, 2;
        add.s32 %r2, %r2, %r3;
        {body}
        }}"
    ))
    .expect("parses")
}

/// Runs the kernel on `source[i] = i`, and returns `result`.
fn run(body: &str) -> Result<(Vec<u32>, Measures), LaunchError> {
    let module = module(body);
    let mut memory = GlobalMemory::new();
    let bytes: Vec<u8> = (0..THREADS).flat_map(u32::to_le_bytes).collect();
    let source = memory.allocate("source", &bytes);
    let result = memory.allocate("result", &vec![0; bytes.len()]);
    let measures = Launch::new(&module, "k")?
        .block([THREADS, 1, 1])
        .pointer(source)
        .pointer(result)
        .limit(10_000)
        .run_seeds(&memory, 8)?;
    let bytes = memory.read(result, bytes.len()).expect("inside");
    let words = bytes.chunks_exact(4);
    let result = words.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    Ok((result.collect(), measures))
}

#[track_caller]
fn computes(body: &str, expected: impl Fn(u32) -> u32) {
    let (result, _) = run(body).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result, (0..THREADS).map(expected).collect::<Vec<_>>());
}

#[track_caller]
fn is_caught(body: &str, expected: impl Fn(&ViolationKind) -> bool) {
    match run(body) {
        Err(LaunchError::Violations(found)) => {
            assert!(found.iter().any(|one| expected(&one.kind)), "{found:?}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("nobody saw it"),
    }
}

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
fn shuffles_and_votes_exchange_lanes() {
    computes(
        "shfl.sync.bfly.b32 %r4, %r1, 3, 31, -1;
        setp.lt.u32 %p1, %r1, 32; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r5, 100, 200, %p2;
        add.s32 %r4, %r4, %r5; st.global.b32 [%rd5], %r4; ret;",
        |i| (i ^ 3) + if i < 32 { 100 } else { 200 },
    );
}

#[test]
fn atomics_add_up() {
    let (result, _) = run("red.global.add.u32 [%rd2], %r1; ret;").expect("clean");
    assert_eq!(result[0], (0..THREADS).sum());
}

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

#[test]
fn accesses_outside_and_askew_are_caught() {
    is_caught("ld.global.b32 %r4, [%rd4+256]; ret;", |kind| {
        matches!(kind, ViolationKind::OutOfBounds { bytes: 4 })
    });
    is_caught("ld.global.b32 %r4, [%rd4+2]; ret;", |kind| {
        matches!(kind, ViolationKind::Misaligned { bytes: 4 })
    });
    is_caught("st.shared.b32 [%r2+1024], %r1; ret;", |kind| {
        matches!(kind, ViolationKind::OutOfBounds { bytes: 4 })
    });
    is_caught(
        "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1+8]; ret;",
        |kind| matches!(kind, ViolationKind::Misaligned { bytes: 16 }),
    );
}

#[test]
fn what_was_never_set_is_caught() {
    is_caught("ld.shared.b32 %r4, [%r2]; ret;", |kind| {
        matches!(kind, ViolationKind::UninitializedMemory)
    });
    is_caught(
        "add.s32 %r4, %r5, 1; ret;",
        |kind| matches!(kind, ViolationKind::UndefinedRegister { name } if name == "%r5"),
    );
    is_caught(
        "@%p1 ret; ret;",
        |kind| matches!(kind, ViolationKind::UndefinedRegister { name } if name == "%p1"),
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

#[test]
fn a_loop_without_end_is_caught() {
    is_caught("$top: bra.uni $top; ret;", |kind| {
        matches!(kind, ViolationKind::TooLong { limit: 10_000 })
    });
}

#[test]
fn measures_count_what_ran() {
    let (_, measures) =
        run("ld.global.b32 %r4, [%rd4]; st.global.b32 [%rd5], %r4; ret;").expect("clean");
    assert_eq!(measures.count("ld.global"), 2);
    assert_eq!(measures.lane_instructions(), 64 * 13);
    assert_eq!(
        measures.buffer("source").map(|buffer| buffer.read),
        Some(256)
    );
    assert_eq!(
        measures.buffer("result").map(|buffer| buffer.written),
        Some(256)
    );
    assert!(measures.to_string().contains("ld.global.b32"));
}

#[test]
fn a_launch_must_fit_its_kernel() {
    let module = module("ret;");
    let memory = GlobalMemory::new();
    let launch = Launch::new(&module, "k").expect("exists");
    let error = launch.clone().run(&memory);
    assert!(matches!(
        error,
        Err(LaunchError::Arguments {
            expected: 2,
            found: 0
        })
    ));
    let error = launch
        .clone()
        .argument(&[0; 4])
        .argument(&[0; 8])
        .run(&memory);
    assert!(matches!(
        error,
        Err(LaunchError::ArgumentSize { index: 0, .. })
    ));
    let error = launch.block([2048, 1, 1]).run(&memory);
    assert!(matches!(error, Err(LaunchError::BlockSize { .. })));
    assert!(matches!(
        Launch::new(&module, "other"),
        Err(LaunchError::NoKernel { .. })
    ));
}
