//! Atomics and reductions.

use crate::kernel::{THREADS, computes, is_caught, run};
use half::{bf16, f16};
use ptx_machine::{GlobalMemory, Launch, Module, ViolationKind};

#[test]
fn atomics_add_up() {
    let (result, _) = run("red.global.add.u32 [%rd2], %r1; ret;").expect("clean");
    assert_eq!(result[0], (0..THREADS).sum());
}

/// Small integers, whose sums are exact in any order.
const FLOAT: &str = "cvt.rn.f32.u32 %f1, %r1;";

fn single(value: u32) -> u32 {
    (value as f32).to_bits()
}

#[test]
fn a_reduction_of_floats_adds_up() {
    let (result, _) = run(&format!("{FLOAT} red.global.add.f32 [%rd2], %f1; ret;")).expect("clean");
    assert_eq!(result[0], single((0..THREADS).sum()));
}

/// Threads that are equal modulo 8 add to the same elements.
#[test]
fn vector_reductions_add_element_by_element() {
    let sum = |i: u32| (0..THREADS / 8).map(|k| 8 * k + i).sum::<u32>();
    computes(
        &format!(
            "{FLOAT} add.f32 %f2, %f1, %f1; and.b32 %r4, %r1, 7;
            mul.wide.u32 %rd6, %r4, 16; add.s64 %rd6, %rd2, %rd6;
            red.global.add.v4.f32 [%rd6], {{%f1, %f2, %f1, 0f3F800000}}; ret;"
        ),
        |i| match (i / 4, i % 4) {
            (8.., _) => 0,
            (_, 3) => single(THREADS / 8),
            (group, 1) => single(2 * sum(group)),
            (group, _) => single(sum(group)),
        },
    );
    computes(
        &format!(
            "{FLOAT} and.b32 %r4, %r1, 7;
            mul.wide.u32 %rd6, %r4, 8; add.s64 %rd6, %rd2, %rd6;
            red.global.add.v2.f32 [%rd6], {{%f1, 0f3F800000}}; ret;"
        ),
        |i| match (i / 2, i % 2) {
            (8.., _) => 0,
            (_, 1) => single(THREADS / 8),
            (group, _) => single(sum(group)),
        },
    );
}

/// All eight elements of the longest vector.
#[test]
fn vector_of_eight_halves_adds_every_element() {
    let halves = |i: u32| match i {
        0..4 => u32::from(f16::from_f32((64 * (2 * i + 1)) as f32).to_bits()),
        _ => 0,
    };
    let high = |i: u32| match i {
        0..4 => u32::from(f16::from_f32((64 * (2 * i + 2)) as f32).to_bits()) << 16,
        _ => 0,
    };
    // 1.0 to 8.0 in f16.
    let ones = "{15360, 16384, 16896, 17408, 17664, 17920, 18176, 18432}";
    computes(
        &format!("red.global.add.noftz.v8.f16 [%rd2], {ones}; ret;"),
        |i| halves(i) | high(i),
    );
}

#[test]
fn packed_and_narrow_sums_are_floating() {
    let pair = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
    let (one, two) = (f16::from_f32(1.0).to_bits(), f16::from_f32(2.0).to_bits());
    let sums = pair(
        f16::from_f32(THREADS as f32).to_bits(),
        f16::from_f32(2.0 * THREADS as f32).to_bits(),
    );
    let (result, _) = run(&format!(
        "red.global.add.noftz.f16x2 [%rd2], {}; ret;",
        pair(one, two)
    ))
    .expect("clean");
    assert_eq!(result[0], sums);
    let brain = |value: f32| bf16::from_f32(value).to_bits();
    let (result, _) = run(&format!(
        "red.global.add.noftz.bf16x2 [%rd2], {}; ret;",
        pair(brain(1.0), brain(0.5))
    ))
    .expect("clean");
    assert_eq!(result[0], pair(brain(64.0), brain(32.0)));
    let (result, _) = run("red.global.add.f64 [%rd2], 0d3FF8000000000000; ret;").expect("clean");
    let bits = u64::from(result[0]) | u64::from(result[1]) << 32;
    assert_eq!(f64::from_bits(bits), 1.5 * f64::from(THREADS));
}

#[test]
fn an_atomic_returns_the_value_before() {
    // Each thread adds to its own word, twice.
    computes(
        &format!(
            "{FLOAT} atom.global.add.f32 %f2, [%rd5], %f1; atom.global.add.f32 %f3, [%rd5], %f1;
            add.f32 %f3, %f3, %f2; st.global.f32 [%rd5], %f3; ret;"
        ),
        single,
    );
}

/// PTX ISA, `atom` and `red`: sums of f32 flush subnormals in global memory and keep them in shared.
#[test]
fn subnormal_sums_vanish_in_global_memory_only() {
    // The smallest subnormal, added to zero.
    let tiny = "mov.b32 %f1, 1;";
    computes(
        &format!("{tiny} red.global.add.f32 [%rd5], %f1; ret;"),
        |_| 0,
    );
    computes(
        &format!(
            "{tiny} mov.b32 %r4, 0; st.shared.b32 [%r2], %r4; red.shared.add.f32 [%r2], %f1;
            ld.shared.b32 %r5, [%r2]; st.global.b32 [%rd5], %r5; ret;"
        ),
        |_| 1,
    );
}

#[test]
fn a_vector_reduction_askew_is_caught() {
    is_caught(
        "mov.b32 %f1, 0f3F800000;
        red.global.add.v4.f32 [%rd2+4], {%f1, %f1, %f1, %f1}; ret;",
        |kind| matches!(kind, ViolationKind::Misaligned { bytes: 16 }),
    );
    is_caught(
        "mov.b32 %f1, 0f3F800000;
        red.global.add.v4.f32 [%rd2+256], {%f1, %f1, %f1, %f1}; ret;",
        |kind| matches!(kind, ViolationKind::OutOfBounds { bytes: 16 }),
    );
}

/// Blocks add numbers whose sum depends on the order: it is that of the blocks' and lanes' indices
/// under seed 0, and under any other seed the same in every run.
#[test]
fn sums_across_blocks_are_the_same_in_every_run_of_a_seed() {
    const BLOCKS: u32 = 16;
    let module = Module::parse(
        ".version 9.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 sum) {
        .reg .b32 %r<8>; .reg .b64 %rd<2>; .reg .f32 %f<4>;
        ld.param.b64 %rd1, [sum];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
        mad.lo.u32 %r4, %r2, %r3, %r1; add.u32 %r4, %r4, 1;
        cvt.rn.f32.u32 %f1, %r4; rcp.rn.f32 %f1, %f1;
        red.global.add.f32 [%rd1], %f1; ret; }",
    )
    .expect("parses");
    let sum = |seed| {
        let mut memory = GlobalMemory::new();
        let pointer = memory.allocate("sum", &[0; 4]);
        Launch::new(&module, "k")
            .expect("exists")
            .grid([BLOCKS, 1, 1])
            .block([THREADS, 1, 1])
            .pointer(pointer)
            .seed(seed)
            .run(&memory)
            .expect("clean");
        let bytes = memory.read(pointer, 4).expect("inside");
        f32::from_le_bytes(bytes.try_into().expect("four bytes"))
    };
    let reciprocals = (1..=BLOCKS * THREADS).map(|i| 1.0 / i as f32);
    assert_eq!(sum(0), reciprocals.fold(0.0, |sum, term| sum + term));
    let seeds: Vec<f32> = (1..=8).map(sum).collect();
    assert_eq!(seeds, (1..=8).map(sum).collect::<Vec<_>>());
    // The order of the warps does matter here, so the seeds do not all agree.
    assert!(seeds.iter().any(|&one| one != seeds[0]), "{seeds:?}");
}
