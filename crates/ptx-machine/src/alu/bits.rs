//! Logic, shifts, bit fields and permutations.

use super::{
    AluKind as K, AluOp, Lanes,
    data::mask,
    lanes::{map, map2, map3},
    unknown,
};
use crate::module::ScalarType as T;

/// The operations of this file.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let width = op.ty.bits();
    let mask = mask(width);
    let unused = 64 - width;
    match op.kind {
        K::And => map2(sources, |a, b| a & b & mask),
        K::Or => map2(sources, |a, b| (a | b) & mask),
        K::Xor => map2(sources, |a, b| (a ^ b) & mask),
        K::Not => map(sources, |a| !a & mask),
        K::Cnot => map(sources, |a| u64::from(a & mask == 0)),
        K::Shl => map2(sources, |a, b| {
            let amount = b as u32;
            if amount < width {
                a << amount & mask
            } else {
                0
            }
        }),
        K::Shr if op.ty.is_signed() => map2(sources, |a, b| {
            let value = (a << unused) as i64 >> unused;
            (value >> (b as u32).min(width - 1)) as u64 & mask
        }),
        K::Shr => map2(sources, |a, b| {
            let amount = b as u32;
            if amount < width {
                (a & mask) >> amount
            } else {
                0
            }
        }),
        K::ShfL { wrap } => map3(sources, |a, b, c| funnel(a, b) << amount(c, wrap) >> 32),
        K::ShfR { wrap } => map3(sources, |a, b, c| {
            funnel(a, b) >> amount(c, wrap) & u64::from(u32::MAX)
        }),
        K::Popc => map(sources, |a| (a & mask).count_ones().into()),
        K::Clz => map(sources, |a| ((a & mask).leading_zeros() - unused).into()),
        K::Brev => map(sources, |a| a.reverse_bits() >> unused),
        K::Bfe => map3(sources, |a, b, c| extract(op.ty, a, b, c)),
        K::Bfi => insert(width, sources),
        K::Prmt => map3(sources, |a, b, c| permute(funnel(a, b), c)),
        K::Lop3 { table } => map3(sources, |a, b, c| lop3(table, a, b, c) & mask),
        _ => unknown(op),
    }
}

/// `b` above `a`.
fn funnel(a: u64, b: u64) -> u64 {
    b << 32 | a & u64::from(u32::MAX)
}

fn amount(c: u64, wrap: bool) -> u32 {
    if wrap {
        c as u32 & 31
    } else {
        (c as u32).min(32)
    }
}

/// Position and length of a field, which the ISA takes from the low 8 bits, cut at the width.
fn field(position: u64, length: u64, width: u32) -> (u32, u32) {
    let position = (position as u32 & 0xFF).min(width);
    (position, (length as u32 & 0xFF).min(width - position))
}

/// All ones in the low `bits`, of which there may be none.
fn low(bits: u32) -> u64 {
    if bits == 0 { 0 } else { mask(bits) }
}

fn extract(ty: T, a: u64, position: u64, length: u64) -> u64 {
    let width = ty.bits();
    let a = a & mask(width);
    let (start, bits) = field(position, length, width);
    let value = a.checked_shr(start).unwrap_or(0) & low(bits);
    // The sign is the field's highest bit, or the register's where the field reaches beyond it.
    let (position, length) = (position as u32 & 0xFF, length as u32 & 0xFF);
    let top = (position + length).saturating_sub(1).min(width - 1);
    let negative = ty.is_signed() && length > 0 && a >> top & 1 == 1;
    if negative {
        (value | !low(bits)) & mask(width)
    } else {
        value
    }
}

/// `bfi d, a, b, c, d`: four sources, so not one of the maps.
fn insert(width: u32, sources: &[&Lanes]) -> Lanes {
    std::array::from_fn(|lane| {
        let [a, b] = [sources[0][lane], sources[1][lane]];
        let (start, bits) = field(sources[2][lane], sources[3][lane], width);
        let place = low(bits).checked_shl(start).unwrap_or(0);
        (b & !place | a.checked_shl(start).unwrap_or(0) & place) & mask(width)
    })
}

/// Each nibble of the selector picks one of eight bytes, or with its top bit that byte's sign.
fn permute(bytes: u64, selector: u64) -> u64 {
    (0..4).fold(0, |result, index| {
        let nibble = selector >> (4 * index) & 0xF;
        let byte = bytes >> (8 * (nibble & 7)) & 0xFF;
        let byte = match nibble & 8 {
            0 => byte,
            _ => (byte >> 7) * 0xFF,
        };
        result | byte << (8 * index)
    })
}

/// Bit `4 a + 2 b + c` of the table, for every bit of the sources.
fn lop3(table: u8, a: u64, b: u64, c: u64) -> u64 {
    (0..8u8)
        .filter(|row| table >> row & 1 == 1)
        .fold(0, |result, row| {
            let term = |value: u64, bit: u8| if row & bit == 0 { !value } else { value };
            result | term(a, 4) & term(b, 2) & term(c, 1)
        })
}
