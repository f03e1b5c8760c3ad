//! Conversions.

use half::{bf16, f16};
use proptest::prelude::*;

use super::{AluKind, INFINITY, NAN, SIGN, op, run, single};
use crate::{
    alu::{
        AluOp,
        Rounding::{self, Rm, Rmi, Rn, Rni, Rp, Rpi, Rz, Rzi},
    },
    module::ScalarType::{
        self, Bf16, Bf16x2, F16, F16x2, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64,
    },
};

fn cvt(ty: ScalarType, source: ScalarType) -> AluOp {
    AluOp {
        source,
        ..op(AluKind::Cvt, ty)
    }
}

fn with(ty: ScalarType, source: ScalarType, rounding: Rounding) -> AluOp {
    AluOp {
        rounding: Some(rounding),
        ..cvt(ty, source)
    }
}

fn saturating(op: AluOp) -> AluOp {
    AluOp {
        saturate: true,
        ..op
    }
}

#[test]
fn integers_chop_or_extend_by_the_sign_of_the_source() {
    assert_eq!(run(cvt(U16, U32), &[0x12345]), 0x2345);
    assert_eq!(run(cvt(U64, U32), &[0xFFFF_FFFF]), 0xFFFF_FFFF);
    assert_eq!(run(cvt(S64, S32), &[0xFFFF_FFFF]), u64::MAX);
    assert_eq!(run(cvt(U64, S32), &[0xFFFF_FFFF]), u64::MAX);
    assert_eq!(run(cvt(U32, S8), &[0x80]), 0xFFFF_FF80);
    assert_eq!(run(cvt(U32, U8), &[0x1FF]), 0xFF);
}

#[test]
fn narrow_signed_results_fill_a_wider_register() {
    let extended = |ty, bits| AluOp {
        kind: AluKind::CvtExtended { bits },
        ..cvt(ty, S32)
    };
    assert_eq!(run(extended(S8, 32), &[0x80]), 0xFFFF_FF80);
    assert_eq!(run(extended(S8, 16), &[0x80]), 0xFF80);
    assert_eq!(run(extended(S16, 64), &[0x7FFF]), 0x7FFF);
}

#[test]
fn integers_saturate_to_the_result_type() {
    assert_eq!(run(saturating(cvt(U8, S32)), &[300]), 255);
    assert_eq!(run(saturating(cvt(U8, S32)), &[0xFFFF_FFFF]), 0);
    assert_eq!(run(saturating(cvt(S8, S32)), &[0xFFFF_FF00]), 0x80);
    assert_eq!(run(saturating(cvt(S32, U32)), &[0xFFFF_FFFF]), 0x7FFF_FFFF);
    assert_eq!(run(saturating(cvt(U64, S64)), &[u64::MAX]), 0);
}

#[test]
fn floats_round_to_integers_as_named_and_clamp() {
    let ties = [(Rni, 2), (Rzi, 2), (Rmi, 2), (Rpi, 3)];
    for (rounding, expected) in ties {
        assert_eq!(
            run(with(S32, F32, rounding), &[single(2.5)]),
            expected,
            "{rounding:?}"
        );
    }
    assert_eq!(run(with(S32, F32, Rmi), &[single(-2.5)]), 0xFFFF_FFFD);
    assert_eq!(run(with(S32, F32, Rzi), &[single(1e20)]), 0x7FFF_FFFF);
    assert_eq!(run(with(S32, F32, Rzi), &[SIGN | INFINITY]), 0x8000_0000);
    assert_eq!(run(with(U32, F32, Rzi), &[single(-5.0)]), 0);
    assert_eq!(run(with(U8, F32, Rni), &[single(300.0)]), 255);
    assert_eq!(run(with(S8, F16, Rni), &[0xD900]), 0x80);
    assert_eq!(run(with(U64, F32, Rzi), &[INFINITY]), u64::MAX);
    assert_eq!(run(with(U32, Bf16, Rpi), &[0x3F81]), 2);
}

/// As an H200 gives them.
#[test]
fn nan_of_f64_keeps_its_sign_and_upper_payload() {
    let narrowed = |bits| run(with(F32, F64, Rn), &[bits]);
    assert_eq!(narrowed(0x7FF8_1C03_4000_0000), 0x7FC0_E01A);
    assert_eq!(narrowed(0xFFFF_FFFF_E000_0000), 0xFFFF_FFFF);
    assert_eq!(narrowed(0xFFF8_0000_0000_0000), 0xFFC0_0000);
    assert_eq!(narrowed(0x7FF0_0000_0000_0001), 0x7FC0_0000);
}

#[test]
fn nan_to_integer_is_zero_or_the_highest_bit() {
    assert_eq!(run(with(S32, F32, Rzi), &[NAN]), 0);
    assert_eq!(run(with(U16, F16, Rzi), &[0x7E00]), 0);
    assert_eq!(run(with(S64, F32, Rzi), &[NAN]), 1 << 63);
    assert_eq!(run(with(U32, F64, Rzi), &[f64::NAN.to_bits()]), 0x8000_0000);
}

#[test]
fn integers_round_to_floats_as_named() {
    // 2^24 + 1 is halfway between two f32.
    let odd = (1 << 24) + 1;
    for (rounding, expected) in [
        (Rn, 0x4B80_0000),
        (Rz, 0x4B80_0000),
        (Rm, 0x4B80_0000),
        (Rp, 0x4B80_0001),
    ] {
        assert_eq!(
            run(with(F32, U32, rounding), &[odd]),
            expected,
            "{rounding:?}"
        );
    }
    let negative = odd.wrapping_neg() & 0xFFFF_FFFF;
    assert_eq!(run(with(F32, S32, Rm), &[negative]), 0xCB80_0001);
    assert_eq!(
        run(with(F32, U64, Rn), &[u64::MAX]),
        single(18_446_744_073_709_551_615.0)
    );
    assert_eq!(run(with(F32, U64, Rz), &[u64::MAX]), 0x5F7F_FFFF);
    // Just above the tie between 2^63 and its successor, by a bit that an f64 would lose.
    assert_eq!(
        run(with(F32, U64, Rn), &[(1 << 63) + (1 << 39) + 1]),
        0x5F00_0001
    );
    assert_eq!(run(with(F16, U32, Rn), &[70_000]), 0x7C00);
    assert_eq!(run(with(F16, U32, Rz), &[70_000]), 0x7BFF);
    assert_eq!(run(with(Bf16, S32, Rn), &[257]), 0x4380);
    assert_eq!(run(with(F64, S64, Rn), &[u64::MAX]), (-1f64).to_bits());
    assert_eq!(
        run(with(F64, U64, Rz), &[u64::MAX]),
        18_446_744_073_709_549_568f64.to_bits()
    );
    assert_eq!(
        run(with(F64, U64, Rp), &[(1 << 53) + 1]),
        9_007_199_254_740_994f64.to_bits()
    );
}

#[test]
fn floats_narrow_with_ties_to_even() {
    // 1 + 2^-11 lies halfway in f16, 1 + 2^-8 in bf16.
    assert_eq!(run(with(F16, F32, Rn), &[0x3F80_1000]), 0x3C00);
    assert_eq!(run(with(F16, F32, Rn), &[0x3F80_3000]), 0x3C02);
    assert_eq!(run(with(F16, F32, Rn), &[0x3F80_1001]), 0x3C01);
    assert_eq!(run(with(F16, F32, Rz), &[0x3F80_3FFF]), 0x3C01);
    assert_eq!(run(with(Bf16, F32, Rn), &[0x3F80_8000]), 0x3F80);
    assert_eq!(run(with(Bf16, F32, Rn), &[0x3F81_8000]), 0x3F82);
    assert_eq!(run(with(Bf16, F32, Rz), &[0x3F81_FFFF]), 0x3F81);
    assert_eq!(run(with(F16, F32, Rn), &[single(65_519.0)]), 0x7BFF);
    assert_eq!(run(with(F16, F32, Rn), &[single(65_520.0)]), 0x7C00);
    assert_eq!(run(with(F16, F32, Rz), &[single(1e10)]), 0x7BFF);
    assert_eq!(run(with(F16, F32, Rn), &[single(2f32.powi(-25))]), 0);
    assert_eq!(run(with(F16, F32, Rn), &[single(1.5 * 2f32.powi(-25))]), 1);
    assert_eq!(run(with(F16, F32, Rn), &[0xFFC0_0000]), 0x7FFF);
    assert_eq!(run(with(Bf16, F32, Rn), &[0x7F80_0001]), 0x7FFF);
    assert_eq!(run(with(F32, F64, Rn), &[1e300f64.to_bits()]), INFINITY);
    assert_eq!(
        run(with(F32, F64, Rm), &[(1.0f64 - 1e-12).to_bits()]),
        0x3F7F_FFFF
    );
    // A tie in f16 that an f32 in between would have made.
    let above = (1.0 + 2f64.powi(-11) + 2f64.powi(-40)).to_bits();
    assert_eq!(run(with(F16, F64, Rn), &[above]), 0x3C01);
}

#[test]
fn floats_widen_exactly() {
    assert_eq!(run(cvt(F32, F16), &[0x0001]), single(2f32.powi(-24)));
    assert_eq!(run(cvt(F32, Bf16), &[0xBF80]), single(-1.0));
    assert_eq!(
        run(cvt(F64, F32), &[single(0.1)]),
        f64::from(0.1f32).to_bits()
    );
    assert_eq!(run(cvt(F32, F16), &[0x7E00]), NAN);
}

#[test]
fn packed_conversion_puts_the_first_source_above() {
    let (one, two) = (single(1.0), single(2.0));
    assert_eq!(run(with(F16x2, F32, Rn), &[one, two]), 0x3C00_4000);
    assert_eq!(run(with(Bf16x2, F32, Rn), &[one, two]), 0x3F80_4000);
    assert_eq!(
        run(with(Bf16x2, F32, Rz), &[0x3F80_FFFF, 0xBF80_FFFF]),
        0x3F80_BF80
    );
}

#[test]
fn floats_of_one_type_round_to_integers_flush_and_saturate() {
    assert_eq!(run(with(F32, F32, Rni), &[single(2.5)]), single(2.0));
    assert_eq!(run(with(F32, F32, Rpi), &[single(-0.5)]), SIGN);
    assert_eq!(run(with(F16, F16, Rmi), &[0x3E00]), 0x3C00);
    assert_eq!(
        run(
            AluOp {
                ftz: true,
                ..cvt(F32, F32)
            },
            &[SIGN | 1]
        ),
        SIGN
    );
    assert_eq!(run(saturating(cvt(F32, F32)), &[single(1.5)]), single(1.0));
    assert_eq!(
        run(
            AluOp {
                ftz: true,
                ..with(F16, F32, Rp)
            },
            &[1]
        ),
        0
    );
}

proptest! {
    #[test]
    fn narrowing_equals_the_half_crate(bits: u32) {
        let value = f32::from_bits(bits);
        prop_assume!(!value.is_nan());
        let half = u64::from(f16::from_f32(value).to_bits());
        prop_assert_eq!(run(with(F16, F32, Rn), &[bits.into()]), half);
        let brain = u64::from(bf16::from_f32(value).to_bits());
        prop_assert_eq!(run(with(Bf16, F32, Rn), &[bits.into()]), brain);
        // The packed conversions take another path.
        let sources = [bits.into(), u64::from(!bits)];
        for (ty, packed) in [(F16, F16x2), (Bf16, Bf16x2)] {
            let [upper, lower] = sources.map(|bits| run(with(ty, F32, Rn), &[bits]));
            prop_assert_eq!(run(with(packed, F32, Rn), &sources), upper << 16 | lower);
        }
    }

    #[test]
    fn double_to_single_equals_the_cast(bits: u64, near in any::<f32>(), lost in 0u64..1 << 29) {
        let edge = f64::from(near).to_bits() ^ lost;
        for bits in [bits, edge] {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(run(with(F32, F64, Rn), &[bits]), single(value as f32));
        }
    }

    #[test]
    fn integers_to_floats_equal_the_casts(value: u64) {
        prop_assert_eq!(run(with(F32, U64, Rn), &[value]), single(value as f32));
        prop_assert_eq!(run(with(F32, S64, Rn), &[value]), single(value as i64 as f32));
        prop_assert_eq!(run(with(F32, S32, Rn), &[value]), single(value as i32 as f32));
    }

    #[test]
    fn floats_to_integers_equal_the_casts(value in any::<f32>()) {
        prop_assume!(!value.is_nan());
        let bits = single(value);
        prop_assert_eq!(run(with(S32, F32, Rzi), &[bits]), u64::from(value as i32 as u32));
        prop_assert_eq!(run(with(U64, F32, Rzi), &[bits]), value as u64);
        prop_assert_eq!(run(with(S16, F32, Rni), &[bits]), u64::from(value.round_ties_even() as i16 as u16));
    }
}
