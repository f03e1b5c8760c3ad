//! Integer arithmetic.

use super::{AluKind as K, op, run};
use crate::{
    alu::AluOp,
    module::ScalarType::{S16, S32, S64, U16, U32, U64},
};

#[test]
fn sums_and_products_wrap_at_the_width() {
    assert_eq!(run(op(K::Add, U16), &[0xFFFF, 2]), 1);
    assert_eq!(run(op(K::Add, U32), &[0xFFFF_FFFF, 2]), 1);
    assert_eq!(run(op(K::Sub, S32), &[0, 1]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Sub, U64), &[0, 1]), u64::MAX);
    assert_eq!(run(op(K::MulLo, S32), &[0xFFFF_FFFF, 3]), 0xFFFF_FFFD);
    assert_eq!(run(op(K::MulLo, U16), &[0x1234, 0x100]), 0x3400);
    assert_eq!(run(op(K::MadLo, S64), &[u64::MAX, 5, 7]), 2);
}

#[test]
fn bits_above_the_type_are_ignored() {
    assert_eq!(run(op(K::Add, U16), &[0xABCD_0001, 0x1234_0001]), 2);
    assert_eq!(run(op(K::Max, S32), &[0xFFFF_0000_0000_0001, 2]), 2);
}

#[test]
fn upper_halves_of_products() {
    assert_eq!(
        run(op(K::MulHi, U32), &[0xFFFF_FFFF, 0xFFFF_FFFF]),
        0xFFFF_FFFE
    );
    assert_eq!(run(op(K::MulHi, S32), &[0xFFFF_FFFF, 0xFFFF_FFFF]), 0);
    assert_eq!(run(op(K::MulHi, S32), &[0x8000_0000, 2]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::MulHi, S16), &[0x8000, 2]), 0xFFFF);
    assert_eq!(run(op(K::MulHi, U64), &[u64::MAX, u64::MAX]), u64::MAX - 1);
    assert_eq!(run(op(K::MulHi, S64), &[u64::MAX, 1]), u64::MAX);
    assert_eq!(run(op(K::MadHi, U32), &[0x8000_0000, 4, 5]), 7);
}

#[test]
fn wide_products_have_twice_the_width() {
    assert_eq!(
        run(op(K::MulWide, U32), &[0xFFFF_FFFF, 0xFFFF_FFFF]),
        0xFFFF_FFFE_0000_0001
    );
    assert_eq!(run(op(K::MulWide, S32), &[0xFFFF_FFFF, 2]), u64::MAX - 1);
    assert_eq!(run(op(K::MulWide, U16), &[0xFFFF, 0xFFFF]), 0xFFFE_0001);
    assert_eq!(run(op(K::MulWide, S16), &[0xFFFF, 2]), 0xFFFF_FFFE);
    assert_eq!(run(op(K::MadWide, S32), &[0xFFFF_FFFF, 2, 3]), 1);
    assert_eq!(run(op(K::MadWide, U16), &[2, 3, 0xFFFF_FFFF]), 5);
}

#[test]
fn sum_of_s32_saturates() {
    let add = AluOp {
        saturate: true,
        ..op(K::Add, S32)
    };
    assert_eq!(run(add, &[0x7FFF_FFFF, 1]), 0x7FFF_FFFF);
    assert_eq!(run(add, &[0x8000_0000, 0xFFFF_FFFF]), 0x8000_0000);
    let sub = AluOp {
        saturate: true,
        ..op(K::Sub, S32)
    };
    assert_eq!(run(sub, &[0x8000_0000, 1]), 0x8000_0000);
    assert_eq!(run(sub, &[5, 7]), 0xFFFF_FFFE);
}

#[test]
fn quotients_truncate_and_division_by_zero_is_all_ones() {
    assert_eq!(run(op(K::Div, S32), &[0xFFFF_FFF9, 2]), 0xFFFF_FFFD);
    assert_eq!(run(op(K::Rem, S32), &[0xFFFF_FFF9, 2]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Div, U32), &[0xFFFF_FFF9, 2]), 0x7FFF_FFFC);
    assert_eq!(run(op(K::Div, U32), &[7, 0]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Rem, U32), &[7, 0]), 7);
    assert_eq!(
        run(op(K::Div, S32), &[0x8000_0000, 0xFFFF_FFFF]),
        0x8000_0000
    );
    assert_eq!(run(op(K::Rem, S32), &[0x8000_0000, 0xFFFF_FFFF]), 0);
    assert_eq!(run(op(K::Div, U64), &[u64::MAX, 16]), u64::MAX / 16);
}

#[test]
fn order_follows_the_sign_of_the_type() {
    assert_eq!(run(op(K::Min, S32), &[0xFFFF_FFFF, 1]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Min, U32), &[0xFFFF_FFFF, 1]), 1);
    assert_eq!(run(op(K::Max, S16), &[0x8000, 1]), 1);
    assert_eq!(run(op(K::Max, U64), &[u64::MAX, 1]), u64::MAX);
}

#[test]
fn relu_replaces_a_negative_result_by_zero() {
    assert_eq!(run(op(K::MinRelu, S32), &[0xFFFF_FFFF, 1]), 0);
    assert_eq!(run(op(K::MinRelu, S32), &[3, 5]), 3);
    assert_eq!(run(op(K::MaxRelu, S32), &[0xFFFF_FFF0, 0xFFFF_FFFF]), 0);
    assert_eq!(run(op(K::MaxRelu, S32), &[0xFFFF_FFFF, 7]), 7);
}

#[test]
fn least_integer_is_its_own_magnitude_and_negative() {
    assert_eq!(run(op(K::Abs, S32), &[0x8000_0000]), 0x8000_0000);
    assert_eq!(run(op(K::Neg, S16), &[0x8000]), 0x8000);
    assert_eq!(run(op(K::Abs, S64), &[u64::MAX]), 1);
    assert_eq!(run(op(K::Neg, S32), &[1]), 0xFFFF_FFFF);
}
