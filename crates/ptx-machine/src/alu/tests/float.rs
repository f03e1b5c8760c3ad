//! f32, f64, f16 and bf16 arithmetic.

use super::{AluKind as K, INFINITY, NAN, SIGN, op, rounded, run, single};
use crate::{
    alu::{
        AluOp,
        Rounding::{Rm, Rn, Rp, Rz},
    },
    module::ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F64},
};

const LEAST: u64 = 1;
const LEAST_NORMAL: u64 = 0x0080_0000;

#[test]
fn nan_results_are_canonical() {
    assert_eq!(run(op(K::Add, F32), &[0xFFC0_1234, single(1.0)]), NAN);
    assert_eq!(run(op(K::Sub, F32), &[INFINITY, INFINITY]), NAN);
    assert_eq!(run(op(K::MulLo, F32), &[INFINITY, 0]), NAN);
    assert_eq!(run(op(K::Add, F16), &[0x7C00, 0xFC00]), 0x7FFF);
    assert_eq!(run(op(K::Fma, Bf16), &[0x7F80, 0, 0]), 0x7FFF);
}

#[test]
fn flush_to_zero_keeps_the_sign() {
    let add = AluOp {
        ftz: true,
        ..op(K::Add, F32)
    };
    assert_eq!(run(op(K::Add, F32), &[LEAST, 0]), LEAST);
    assert_eq!(run(add, &[LEAST, 0]), 0);
    assert_eq!(run(add, &[SIGN | LEAST, SIGN]), SIGN);
    let mul = AluOp {
        ftz: true,
        ..op(K::MulLo, F32)
    };
    assert_eq!(
        run(op(K::MulLo, F32), &[LEAST_NORMAL, single(0.5)]),
        LEAST_NORMAL / 2
    );
    assert_eq!(run(mul, &[LEAST_NORMAL, single(-0.5)]), SIGN);
    let half = AluOp {
        ftz: true,
        ..op(K::MulLo, F16)
    };
    assert_eq!(run(half, &[0x0400, 0xB800]), 0x8000);
    assert_eq!(run(op(K::MulLo, F16), &[0x0400, 0xB800]), 0x8200);
}

/// As an H200 gives them.
#[test]
fn flushing_looks_at_24_bits_before_subnormal_steps_round_up() {
    let below_one = 0x3F7F_FFFF;
    for rounding in [Rn, Rm] {
        let mul = AluOp {
            rounding: Some(rounding),
            ..op(K::MulLo, F32)
        };
        let negative = SIGN | LEAST_NORMAL;
        assert_eq!(run(mul, &[below_one, negative]), negative);
        let flushing = AluOp { ftz: true, ..mul };
        assert_eq!(run(flushing, &[below_one, negative]), SIGN);
        let fma = AluOp {
            kind: K::Fma,
            ..flushing
        };
        assert_eq!(run(fma, &[below_one, negative, SIGN]), SIGN);
    }
}

#[test]
fn saturation_clamps_and_drops_nan() {
    for (value, expected) in [(2.0f32, 1.0f32), (0.25, 0.25), (-3.0, 0.0), (f32::NAN, 0.0)] {
        let add = AluOp {
            saturate: true,
            ..op(K::Add, F32)
        };
        assert_eq!(run(add, &[single(value), 0]), single(expected));
    }
    let half = AluOp {
        saturate: true,
        ..op(K::Add, F16x2)
    };
    assert_eq!(run(half, &[0x4000_BC00, 0]), 0x3C00_0000);
}

#[test]
fn fma_rounds_once() {
    // (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, which the rounded product has lost.
    let a = single(1.0 + f32::EPSILON * 2048.0);
    let c = single(-(1.0 + f32::EPSILON * 4096.0));
    assert_eq!(run(op(K::Fma, F32), &[a, a, c]), single(2.0f32.powi(-24)));
    // In f16 (1 + 2^-6)^2 - (1 + 2^-5) is 2^-12.
    assert_eq!(run(op(K::Fma, F16), &[0x3C10, 0x3C10, 0xBC20]), 0x0C00);
    // In bf16 (1 + 2^-5)^2 - (1 + 2^-4) is 2^-10.
    assert_eq!(run(op(K::Fma, Bf16), &[0x3F84, 0x3F84, 0xBF88]), 0x3A80);
}

#[test]
fn brain_fma_breaks_a_tie_by_what_an_f64_would_lose() {
    // 1.0625^2 = 1 + 2^-3 + 2^-8 lies halfway between 0x3F90 and 0x3F91; 2^-100 decides.
    let with = |c| run(op(K::Fma, Bf16), &[0x3F88, 0x3F88, c]);
    assert_eq!(with(0), 0x3F90);
    assert_eq!(with(0x0D80), 0x3F91);
    assert_eq!(with(0x8D80), 0x3F90);
    // 1.0625 1.1875 is 1 + 2^-2 + 2^-7 + 2^-8, where the tie is above an odd neighbor.
    let with = |c| run(op(K::Fma, Bf16), &[0x3F88, 0x3F98, c]);
    assert_eq!(with(0), 0x3FA2);
    assert_eq!(with(0x0D80), 0x3FA2);
    assert_eq!(with(0x8D80), 0x3FA1);
}

#[test]
fn half_fma_rounds_ties_to_even() {
    // 1 + 2^-11 is a tie; one more unit of the factor goes up.
    assert_eq!(run(op(K::Fma, F16), &[0x3C00, 0x1000, 0x3C00]), 0x3C00);
    assert_eq!(run(op(K::Fma, F16), &[0x3C01, 0x1000, 0x3C00]), 0x3C01);
    assert_eq!(run(op(K::Fma, F16), &[0x3C00, 0x1000, 0x3C01]), 0x3C02);
}

#[test]
fn directed_roundings_take_the_named_neighbor() {
    let (one, tiny, above) = (single(1.0), single(1e-20), single(1.0 + f32::EPSILON));
    for (rounding, expected) in [(Rn, one), (Rz, one), (Rm, one), (Rp, above)] {
        assert_eq!(
            run(rounded(K::Add, F32, rounding), &[one, tiny]),
            expected,
            "{rounding:?}"
        );
    }
    for (rounding, expected) in [(Rn, one), (Rz, one), (Rm, above), (Rp, one)] {
        let sources = [SIGN | one, SIGN | tiny];
        assert_eq!(
            run(rounded(K::Add, F32, rounding), &sources),
            SIGN | expected
        );
    }
    assert_eq!(run(rounded(K::Sub, F32, Rz), &[one, tiny]), one - 1);
    assert_eq!(run(rounded(K::MulLo, F32, Rp), &[LEAST, LEAST]), LEAST);
    assert_eq!(run(rounded(K::MulLo, F32, Rz), &[LEAST, LEAST]), 0);
    assert_eq!(
        run(rounded(K::MulLo, F32, Rz), &[0x7F7F_FFFF, 0x7F7F_FFFF]),
        0x7F7F_FFFF
    );
    assert_eq!(
        run(rounded(K::MulLo, F32, Rp), &[0x7F7F_FFFF, 0x7F7F_FFFF]),
        INFINITY
    );
    assert_eq!(
        run(rounded(K::DivRn, F32, Rp), &[one, single(3.0)]),
        0x3EAA_AAAB
    );
    assert_eq!(
        run(rounded(K::DivRn, F32, Rz), &[one, single(3.0)]),
        0x3EAA_AAAA
    );
    assert_eq!(
        run(rounded(K::DivRn, F32, Rm), &[SIGN | one, single(3.0)]),
        0xBEAA_AAAB
    );
    assert_eq!(run(rounded(K::Fma, F32, Rp), &[one, one, tiny]), above);
}

#[test]
fn exact_zero_of_two_signs_is_negative_downwards_only() {
    let (one, minus) = (single(1.0), single(-1.0));
    for (rounding, expected) in [(Rn, 0), (Rz, 0), (Rp, 0), (Rm, SIGN)] {
        assert_eq!(
            run(rounded(K::Add, F32, rounding), &[one, minus]),
            expected,
            "{rounding:?}"
        );
    }
    assert_eq!(run(rounded(K::Add, F32, Rm), &[0, 0]), 0);
}

#[test]
fn minimum_prefers_numbers_and_orders_zeros() {
    let one = single(1.0);
    for kind in [K::Min, K::Max] {
        assert_eq!(run(op(kind, F32), &[0xFFC0_0000, one]), one);
        assert_eq!(run(op(kind, F32), &[one, 0x7FC0_0001]), one);
        assert_eq!(run(op(kind, F32), &[0x7FC0_0001, 0xFFC0_0001]), NAN);
        assert_eq!(run(op(kind, F16), &[0x7E00, 0x3C00]), 0x3C00);
        assert_eq!(run(op(kind, Bf16), &[0x7FC0, 0xFFC0]), 0x7FFF);
    }
    for kind in [K::MinNan, K::MaxNan] {
        assert_eq!(run(op(kind, F32), &[0xFFC0_0000, one]), NAN);
        assert_eq!(run(op(kind, F16), &[0x3C00, 0x7E00]), 0x7FFF);
        assert_eq!(run(op(kind, F32), &[one, one]), one);
    }
    for sources in [[0, SIGN], [SIGN, 0]] {
        assert_eq!(run(op(K::Min, F32), &sources), SIGN);
        assert_eq!(run(op(K::Max, F32), &sources), 0);
    }
    for sources in [[0, 0x8000], [0x8000, 0]] {
        assert_eq!(run(op(K::Min, Bf16), &sources), 0x8000);
        assert_eq!(run(op(K::Max, F16), &sources), 0);
    }
    assert_eq!(
        run(op(K::Max, F32), &[single(-1.0), single(-2.0)]),
        single(-1.0)
    );
    assert_eq!(
        run(op(K::Min, F16x2), &[0x3C00_BC00, 0x4000_C000]),
        0x3C00_C000
    );
    let max = AluOp {
        ftz: true,
        ..op(K::Max, F32)
    };
    assert_eq!(run(max, &[LEAST, SIGN]), 0);
}

#[test]
fn sign_operations_touch_the_sign_alone() {
    assert_eq!(run(op(K::Neg, F32), &[single(2.0)]), single(-2.0));
    assert_eq!(run(op(K::Abs, F32), &[SIGN]), 0);
    assert_eq!(
        run(
            AluOp {
                ftz: true,
                ..op(K::Neg, F32)
            },
            &[LEAST]
        ),
        SIGN
    );
    assert_eq!(run(op(K::Neg, Bf16x2), &[0x3F80_BF80]), 0xBF80_3F80);
    assert_eq!(run(op(K::Abs, F16x2), &[0xBC00_8001]), 0x3C00_0001);
    // A NaN becomes the canonical one, as on an H200.
    assert_eq!(run(op(K::Neg, F16x2), &[0x3C00_7E00]), 0xBC00_7FFF);
    assert_eq!(run(op(K::Abs, Bf16x2), &[0xFFC0_0000]), 0x7FFF_0000);
    assert_eq!(
        run(op(K::Neg, F64), &[(2.5f64).to_bits()]),
        (-2.5f64).to_bits()
    );
}

#[test]
fn packed_halves_do_not_mix() {
    assert_eq!(
        run(op(K::Add, F16x2), &[0x3C00_4000, 0x3C00_3C00]),
        0x4000_4200
    );
    assert_eq!(
        run(op(K::Sub, Bf16x2), &[0x4000_3F80, 0x3F80_3F80]),
        0x3F80_0000
    );
    assert_eq!(
        run(op(K::Fma, F16x2), &[0x7BFF_3C00, 0x4000_3C00, 0x0000_3C00]),
        0x7C00_4000
    );
    assert_eq!(run(op(K::MulLo, Bf16), &[0x7F7F, 0x4000]), 0x7F80);
}

#[test]
fn quotients() {
    let (one, three) = (single(1.0), single(3.0));
    assert_eq!(run(rounded(K::DivRn, F32, Rn), &[one, three]), 0x3EAA_AAAB);
    assert_eq!(run(op(K::DivFull, F32), &[one, 0]), INFINITY);
    assert_eq!(run(op(K::DivApprox, F32), &[one, SIGN]), SIGN | INFINITY);
    assert_eq!(run(op(K::DivApprox, F32), &[0, 0]), NAN);
    // Beyond 2^126 the reciprocal is flushed.
    assert_eq!(
        run(op(K::DivApprox, F32), &[single(1e38), single(1.5e38)]),
        0
    );
    assert_eq!(run(op(K::DivApprox, F32), &[INFINITY, single(1.5e38)]), NAN);
    assert_eq!(
        run(op(K::DivRn, F64), &[1f64.to_bits(), 3f64.to_bits()]),
        (1.0f64 / 3.0).to_bits()
    );
}

#[test]
fn doubles() {
    let [a, b, c] = [1.5f64, -2.25, 0.1];
    let sources = [a.to_bits(), b.to_bits(), c.to_bits()];
    assert_eq!(run(op(K::Add, F64), &sources[..2]), (a + b).to_bits());
    assert_eq!(run(op(K::MulLo, F64), &sources[..2]), (a * b).to_bits());
    assert_eq!(run(op(K::Fma, F64), &sources), a.mul_add(b, c).to_bits());
    assert_eq!(
        run(op(K::Min, F64), &[f64::NAN.to_bits(), b.to_bits()]),
        b.to_bits()
    );
    assert_eq!(run(op(K::Max, F64), &sources[..2]), a.to_bits());
}
