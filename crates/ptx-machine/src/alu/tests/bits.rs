//! Logic, shifts, fields, permutations, packing.

use proptest::prelude::*;

use super::{AluKind as K, op, run};
use crate::{
    alu::{AluOp, SHARED_WINDOW},
    module::ScalarType::{self, B16, B32, B64, F32, Pred, S16, S32, S64, U32, U64},
};

#[test]
fn logic_stays_within_the_width() {
    assert_eq!(run(op(K::Not, Pred), &[1]), 0);
    assert_eq!(run(op(K::Not, Pred), &[0]), 1);
    assert_eq!(run(op(K::Not, B16), &[0x00FF]), 0xFF00);
    assert_eq!(
        run(op(K::Xor, B32), &[0xF0F0_F0F0, 0xFFFF_FFFF]),
        0x0F0F_0F0F
    );
    assert_eq!(run(op(K::Cnot, B32), &[0]), 1);
    assert_eq!(run(op(K::Cnot, B32), &[6]), 0);
}

#[test]
fn shifts_beyond_the_width_clamp() {
    assert_eq!(run(op(K::Shl, B32), &[1, 31]), 0x8000_0000);
    assert_eq!(run(op(K::Shl, B32), &[1, 32]), 0);
    assert_eq!(run(op(K::Shl, B32), &[1, 0xFFFF_FFFF]), 0);
    assert_eq!(run(op(K::Shl, B16), &[0xFFFF, 8]), 0xFF00);
    assert_eq!(run(op(K::Shr, U32), &[0x8000_0000, 32]), 0);
    assert_eq!(run(op(K::Shr, S32), &[0x8000_0000, 32]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Shr, S32), &[0x8000_0000, 4]), 0xF800_0000);
    assert_eq!(run(op(K::Shr, S16), &[0x8000, 200]), 0xFFFF);
    assert_eq!(run(op(K::Shr, S64), &[1 << 63, 64]), u64::MAX);
    assert_eq!(run(op(K::Shr, B64), &[1 << 63, 63]), 1);
}

#[test]
fn funnel_shifts_join_two_registers() {
    let (low, high) = (0x8765_4321, 0x1234_5678);
    assert_eq!(
        run(op(K::ShfL { wrap: false }, B32), &[low, high, 8]),
        0x3456_7887
    );
    assert_eq!(
        run(op(K::ShfR { wrap: false }, B32), &[low, high, 8]),
        0x7887_6543
    );
    assert_eq!(run(op(K::ShfL { wrap: false }, B32), &[low, high, 40]), low);
    assert_eq!(
        run(op(K::ShfR { wrap: false }, B32), &[low, high, 40]),
        high
    );
    assert_eq!(
        run(op(K::ShfL { wrap: true }, B32), &[low, high, 40]),
        0x3456_7887
    );
    assert_eq!(run(op(K::ShfR { wrap: true }, B32), &[low, high, 32]), low);
}

#[test]
fn counts_and_reversal() {
    assert_eq!(run(op(K::Popc, B32), &[0xFFFF_FFFF_0000_00FF]), 8);
    assert_eq!(run(op(K::Popc, B64), &[u64::MAX]), 64);
    assert_eq!(run(op(K::Clz, B32), &[0]), 32);
    assert_eq!(run(op(K::Clz, B32), &[1]), 31);
    assert_eq!(run(op(K::Clz, B64), &[0]), 64);
    assert_eq!(run(op(K::Brev, B32), &[1]), 0x8000_0000);
    assert_eq!(run(op(K::Brev, B64), &[2]), 1 << 62);
}

#[test]
fn field_extraction_extends_its_sign() {
    assert_eq!(run(op(K::Bfe, U32), &[0xABCD_1234, 4, 8]), 0x23);
    assert_eq!(run(op(K::Bfe, S32), &[0x0000_0F00, 8, 4]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Bfe, S32), &[0x0000_0700, 8, 4]), 7);
    assert_eq!(run(op(K::Bfe, U32), &[0xABCD_1234, 4, 0]), 0);
    assert_eq!(run(op(K::Bfe, S32), &[0x8000_0000, 40, 4]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Bfe, S32), &[0xF000_0000, 28, 8]), 0xFFFF_FFFF);
    assert_eq!(run(op(K::Bfe, U64), &[u64::MAX, 60, 200]), 0xF);
}

#[test]
fn field_insertion_leaves_the_rest() {
    assert_eq!(run(op(K::Bfi, B32), &[0xFF, 0, 4, 4]), 0xF0);
    assert_eq!(run(op(K::Bfi, B32), &[0, 0xFFFF_FFFF, 8, 16]), 0xFF00_00FF);
    assert_eq!(run(op(K::Bfi, B32), &[0xFF, 0x1234, 32, 8]), 0x1234);
    assert_eq!(run(op(K::Bfi, B32), &[0xFF, 0, 28, 8]), 0xF000_0000);
    assert_eq!(run(op(K::Bfi, B64), &[u64::MAX, 0, 0, 64]), u64::MAX);
}

#[test]
fn permutation_picks_bytes_or_their_signs() {
    let (a, b) = (0x3322_1100, 0x7766_5584);
    assert_eq!(run(op(K::Prmt, B32), &[a, b, 0x3210]), a);
    assert_eq!(run(op(K::Prmt, B32), &[a, b, 0x7654]), b);
    assert_eq!(run(op(K::Prmt, B32), &[a, b, 0x0123]), 0x0011_2233);
    assert_eq!(run(op(K::Prmt, B32), &[a, b, 0x40C8]), 0x8400_FF00);
}

#[test]
fn lop3_reads_its_table() {
    let (a, b, c) = (0xF0F0_F0F0, 0xCCCC_CCCC, 0xAAAA_AAAA);
    assert_eq!(run(op(K::Lop3 { table: 0x80 }, B32), &[a, b, c]), a & b & c);
    assert_eq!(run(op(K::Lop3 { table: 0xFE }, B32), &[a, b, c]), a | b | c);
    assert_eq!(run(op(K::Lop3 { table: 0x96 }, B32), &[a, b, c]), a ^ b ^ c);
    assert_eq!(
        run(op(K::Lop3 { table: 0xE2 }, B32), &[a, b, c]),
        (a & b) | (!b & c)
    );
}

#[test]
fn packing_and_unpacking_are_inverse() {
    let pack = AluOp {
        source: B16,
        ..op(K::Pack, B64)
    };
    let wide = run(pack, &[0xF_1111, 0x2222, 0x3333, 0x4444]);
    assert_eq!(wide, 0x4444_3333_2222_1111);
    for index in 0..4 {
        let unpack = AluOp {
            source: B64,
            ..op(K::Unpack { index }, B16)
        };
        assert_eq!(run(unpack, &[wide]), 0x1111 * (u64::from(index) + 1));
    }
    let halves = AluOp {
        source: B32,
        ..op(K::Unpack { index: 1 }, B16)
    };
    assert_eq!(run(halves, &[0x1234_5678]), 0x1234);
}

#[test]
fn moves_choices_and_addresses() {
    assert_eq!(run(op(K::Mov, B16), &[0x12345]), 0x2345);
    assert_eq!(run(op(K::Mov, Pred), &[3]), 1);
    assert_eq!(run(op(K::Selp, F32), &[1, 2, 1]), 1);
    assert_eq!(run(op(K::Selp, F32), &[1, 2, 0]), 2);
    assert_eq!(run(op(K::CvtaShared, U64), &[64]), SHARED_WINDOW + 64);
    assert_eq!(run(op(K::CvtaToShared, U64), &[SHARED_WINDOW + 64]), 64);
}

/// The ISA's own loop for `bfe`, a bit at a time.
fn field_by_bits(ty: ScalarType, a: u64, position: u64, length: u64) -> u64 {
    let top = u64::from(ty.bits()) - 1;
    let (position, length) = (position & 0xFF, length & 0xFF);
    let signed = ty.is_signed() && length > 0;
    let sign = if signed {
        a >> (position + length - 1).min(top) & 1
    } else {
        0
    };
    (0..=top).fold(0, |d, i| {
        let inside = i < length && position + i <= top;
        d | (if inside {
            a >> (position + i) & 1
        } else {
            sign
        }) << i
    })
}

proptest! {
    #[test]
    fn bfe_equals_the_isa_loop(a: u64, position in 0u64..80, length in 0u64..80) {
        for ty in [U32, S32, U64, S64] {
            let expected = field_by_bits(ty, a, position, length);
            prop_assert_eq!(run(op(K::Bfe, ty), &[a, position, length]), expected);
        }
    }
}
