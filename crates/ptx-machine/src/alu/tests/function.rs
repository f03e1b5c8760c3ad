//! Functions of one float.

use super::{AluKind as K, INFINITY, NAN, SIGN, op, rounded, run, single};
use crate::{
    alu::{
        AluOp, LANES,
        Rounding::{Rn, Rp, Rz},
        execute,
    },
    module::ScalarType::{Bf16x2, F16, F32, F64},
};

fn approximate(kind: K, value: f32) -> u64 {
    run(op(kind, F32), &[single(value)])
}

#[test]
fn special_values_are_those_of_the_isa() {
    let (inf, zero) = (f32::INFINITY, 0.0f32);
    let table = [
        (K::Ex2Approx, -inf, 0),
        (K::Ex2Approx, inf, INFINITY),
        (K::Ex2Approx, -zero, single(1.0)),
        (K::Ex2Approx, -1e-40, single(1.0)),
        (K::Ex2Approx, f32::NAN, NAN),
        (K::Ex2Approx, -149.0, 1),
        (K::Ex2Approx, 128.0, INFINITY),
        (K::Lg2Approx, zero, SIGN | INFINITY),
        (K::Lg2Approx, -zero, SIGN | INFINITY),
        (K::Lg2Approx, -1.0, NAN),
        (K::Lg2Approx, inf, INFINITY),
        (K::Lg2Approx, 8.0, single(3.0)),
        (K::Lg2Approx, f32::from_bits(1), single(-149.0)),
        (K::RcpApprox, zero, INFINITY),
        (K::RcpApprox, -zero, SIGN | INFINITY),
        (K::RcpApprox, -inf, SIGN),
        (K::RcpApprox, 4.0, single(0.25)),
        (K::SqrtApprox, -zero, SIGN),
        (K::SqrtApprox, -1.0, NAN),
        (K::SqrtApprox, 9.0, single(3.0)),
        (K::RsqrtApprox, zero, INFINITY),
        (K::RsqrtApprox, -zero, SIGN | INFINITY),
        (K::RsqrtApprox, 4.0, single(0.5)),
        (K::RsqrtApprox, inf, 0),
        (K::RsqrtApprox, -1.0, NAN),
        (K::SinApprox, inf, NAN),
        (K::SinApprox, -zero, SIGN),
        (K::CosApprox, zero, single(1.0)),
        (K::TanhApprox, -inf, single(-1.0)),
        (K::TanhApprox, -zero, SIGN),
    ];
    for (kind, value, expected) in table {
        assert_eq!(approximate(kind, value), expected, "{kind:?} of {value}");
    }
}

#[test]
fn flushing_makes_subnormal_results_and_sources_zero() {
    let flushed = |kind, value| {
        run(
            AluOp {
                ftz: true,
                ..op(kind, F32)
            },
            &[single(value)],
        )
    };
    assert_eq!(flushed(K::Ex2Approx, -127.0), 0);
    assert_eq!(approximate(K::Ex2Approx, -127.0), 0x0040_0000);
    assert_eq!(flushed(K::RcpApprox, 1e-40), INFINITY);
    assert_eq!(flushed(K::Lg2Approx, 1e-40), SIGN | INFINITY);
    assert_eq!(flushed(K::RcpApprox, 3e38), 0);
}

#[test]
fn rounded_functions_follow_their_rounding() {
    let two = single(2.0);
    assert_eq!(run(rounded(K::SqrtRn, F32, Rn), &[two]), 0x3FB5_04F3);
    assert_eq!(run(rounded(K::SqrtRn, F32, Rz), &[two]), 0x3FB5_04F3);
    assert_eq!(run(rounded(K::SqrtRn, F32, Rp), &[two]), 0x3FB5_04F4);
    assert_eq!(run(rounded(K::RcpRn, F32, Rn), &[single(3.0)]), 0x3EAA_AAAB);
    assert_eq!(run(rounded(K::RcpRn, F32, Rz), &[single(3.0)]), 0x3EAA_AAAA);
    assert_eq!(
        run(rounded(K::SqrtRn, F64, Rn), &[2f64.to_bits()]),
        2f64.sqrt().to_bits()
    );
}

#[test]
fn narrow_functions() {
    assert_eq!(run(op(K::Ex2Approx, F16), &[0x3C00]), 0x4000);
    assert_eq!(run(op(K::TanhApprox, F16), &[0x7C00]), 0x3C00);
    assert_eq!(run(op(K::Ex2Approx, Bf16x2), &[0x3F80_BF80]), 0x4000_3F00);
}

#[test]
fn inactive_lanes_are_not_computed() {
    let result = execute(&op(K::Ex2Approx, F32), &[[0; LANES]], 0b101);
    assert_eq!(result[0], single(1.0));
    assert_eq!(result[2], single(1.0));
    assert_eq!(result[1], 0);
}
