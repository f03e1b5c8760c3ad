//! Kernels' arithmetic from registers to memory: conversions, packing, bits and predicates.

use crate::kernel::computes;
use half::{bf16, f16};

fn pair(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// The first source of a packed conversion is the upper half.
#[test]
fn pairs_of_floats_become_packed_halves() {
    let floats = "cvt.rn.f32.u32 %f1, %r1; fma.rn.ftz.f32 %f2, %f1, 0f40400000, 0f3F000000;";
    computes(
        &format!("{floats} cvt.rn.f16x2.f32 %r4, %f2, %f1; st.global.b32 [%rd5], %r4; ret;"),
        |i| {
            let value = i as f32;
            pair(
                f16::from_f32(value).to_bits(),
                f16::from_f32(value * 3.0 + 0.5).to_bits(),
            )
        },
    );
    computes(
        &format!("{floats} cvt.rn.bf16x2.f32 %r4, %f2, %f1; st.global.b32 [%rd5], %r4; ret;"),
        |i| {
            let value = i as f32;
            pair(
                bf16::from_f32(value).to_bits(),
                bf16::from_f32(value * 3.0 + 0.5).to_bits(),
            )
        },
    );
}

#[test]
fn powers_of_two_are_exact_and_subnormal_ones_flushed() {
    computes(
        "cvt.rn.f32.u32 %f1, %r1; neg.f32 %f1, %f1; fma.rn.ftz.f32 %f1, %f1, 0f40400000, 0f00000000;
        ex2.approx.ftz.f32 %f2, %f1; st.global.f32 [%rd5], %f2; ret;",
        |i| match 3 * i {
            // 2^-127 and below is subnormal.
            127.. => 0,
            exponent => (127 - exponent) << 23,
        },
    );
}

#[test]
fn words_are_packed_and_taken_apart() {
    computes(
        ".reg .b16 %h<2>;
        mov.b32 {%h0, %h1}, %r1; mov.b32 %r4, {%h1, %h0};
        mov.b64 %rd3, {%r4, %r1}; mov.b64 {%r5, %r6}, %rd3;
        prmt.b32 %r7, %r5, %r6, 0x5432;
        st.global.b32 [%rd5], %r7; ret;",
        |i| pair(i as u16, i as u16),
    );
}

#[test]
fn bits_are_combined_and_shifted() {
    computes(
        "lop3.b32 %r4, %r1, 12, 3, 0xEA; shf.l.wrap.b32 %r5, 0x80000000, %r1, 1;
        shf.r.clamp.b32 %r6, %r1, %r5, 2; add.u32 %r4, %r4, %r6; st.global.b32 [%rd5], %r4; ret;",
        |i| {
            let logic = i & 12 | 3;
            let left = i << 1 | 1;
            logic.wrapping_add(i >> 2 | left << 30)
        },
    );
}

#[test]
fn a_comparison_is_joined_with_a_predicate() {
    computes(
        "and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 0;
        setp.lt.and.u32 %p2, %r1, 40, %p1; selp.b32 %r5, 5, 6, %p2;
        st.global.b32 [%rd5], %r5; ret;",
        |i| if i < 40 && i % 2 == 0 { 5 } else { 6 },
    );
}
