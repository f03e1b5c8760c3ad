//! Comparisons.

use super::{AluKind, NAN, op, run, single};
use crate::{
    alu::{AluOp, Logic},
    module::{
        Comparison::{self as C, Eq, Equ, Ge, Geu, Gt, Gtu, Le, Leu, Lt, Ltu, Nan, Ne, Neu, Num},
        ScalarType::{self, Bf16, F16, F32, F64, S16, S32, U32, U64},
    },
};

fn compare(comparison: C, ty: ScalarType, a: u64, b: u64) -> bool {
    run(
        op(
            AluKind::Setp {
                comparison,
                combine: None,
            },
            ty,
        ),
        &[a, b],
    ) == 1
}

#[test]
fn integers_compare_by_their_sign() {
    assert!(compare(Lt, S32, 0xFFFF_FFFF, 0));
    assert!(!compare(Lt, U32, 0xFFFF_FFFF, 0));
    assert!(compare(Gt, U64, u64::MAX, 0));
    assert!(compare(Le, S16, 0x8000, 0x7FFF));
    assert!(compare(Eq, U32, 0x1_0000_0005, 5));
}

#[test]
fn ordered_comparisons_fail_and_unordered_ones_hold_on_nan() {
    for other in [NAN, single(1.0)] {
        for comparison in [Eq, Ne, Lt, Le, Gt, Ge, Num] {
            assert!(!compare(comparison, F32, NAN, other), "{comparison:?}");
            assert!(!compare(comparison, F32, other, NAN), "{comparison:?}");
        }
        for comparison in [Equ, Neu, Ltu, Leu, Gtu, Geu, Nan] {
            assert!(compare(comparison, F32, NAN, other), "{comparison:?}");
            assert!(compare(comparison, F32, other, NAN), "{comparison:?}");
        }
    }
}

#[test]
fn unordered_comparisons_of_numbers_are_the_ordered_ones() {
    let values = [-1.0f32, -0.0, 0.0, 2.0, f32::INFINITY];
    let pairs = [
        (Eq, Equ),
        (Ne, Neu),
        (Lt, Ltu),
        (Le, Leu),
        (Gt, Gtu),
        (Ge, Geu),
    ];
    for a in values {
        for b in values {
            for (ordered, unordered) in pairs {
                let holds = compare(ordered, F32, single(a), single(b));
                assert_eq!(holds, compare(unordered, F32, single(a), single(b)));
                assert_eq!(
                    holds,
                    compare(ordered, F64, f64::from(a).to_bits(), f64::from(b).to_bits())
                );
            }
        }
    }
    assert!(compare(Eq, F32, single(-0.0), single(0.0)));
    assert!(compare(Num, F32, single(-0.0), single(0.0)));
}

#[test]
fn flushed_subnormals_are_equal_to_zero() {
    let setp = AluKind::Setp {
        comparison: Eq,
        combine: None,
    };
    assert_eq!(run(op(setp, F32), &[1, 0]), 0);
    assert_eq!(
        run(
            AluOp {
                ftz: true,
                ..op(setp, F32)
            },
            &[1, 0]
        ),
        1
    );
    assert_eq!(
        run(
            AluOp {
                ftz: true,
                ..op(setp, F16)
            },
            &[1, 0]
        ),
        1
    );
}

#[test]
fn narrow_floats_compare_by_value() {
    assert!(compare(Lt, F16, 0xBC00, 0x3C00));
    assert!(compare(Gt, Bf16, 0x3F80, 0xBF80));
    assert!(compare(Nan, Bf16, 0x7FC0, 0));
    assert!(compare(Ltu, F16, 0x7E00, 0));
}

#[test]
fn logic_combines_with_the_predicate() {
    let cases = [
        (Logic::And, [0, 0, 0, 1]),
        (Logic::Or, [0, 1, 1, 1]),
        (Logic::Xor, [0, 1, 1, 0]),
        (Logic::AndNot, [0, 0, 1, 0]),
        (Logic::OrNot, [1, 0, 1, 1]),
        (Logic::XorNot, [1, 0, 0, 1]),
    ];
    for (logic, table) in cases {
        for (row, expected) in (0u64..).zip(table) {
            let (holds, predicate) = (row >> 1, row & 1);
            let kind = AluKind::Setp {
                comparison: Eq,
                combine: Some(logic),
            };
            assert_eq!(
                run(op(kind, U32), &[holds, 1, predicate]),
                expected,
                "{logic:?} {row}"
            );
        }
    }
}
