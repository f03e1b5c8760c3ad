//! Bits as they are: packing, selecting, fields, permutations.

use super::{AluOp, Lanes};

/// Bit fields start and end within a byte's range.
const FIELD_MASK: u64 = 0xff;

/// Narrow registers to a wide one, low bits first.
pub(super) fn pack(op: &AluOp, sources: &[Lanes]) -> Lanes {
    let bits = op.ty.bits() as usize / sources.len();
    let mask = mask(bits as u32);
    std::array::from_fn(|lane| {
        let parts = sources.iter().enumerate();
        parts.fold(0, |all, (at, source)| {
            all | (source[lane] & mask) << (at * bits)
        })
    })
}

/// `selp`: the first source where the third holds, the second elsewhere.
pub(super) fn select(sources: &[Lanes]) -> Lanes {
    std::array::from_fn(|lane| {
        if sources[2][lane] == 0 {
            sources[1][lane]
        } else {
            sources[0][lane]
        }
    })
}

/// The low `bits` bits set.
pub(super) fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// `bfe`: `length` bits of `value` from `position` on, with the sign of the field's top bit, or of
/// the value's where the field reaches past it.
pub(super) fn extract(value: u64, position: u64, length: u64, bits: u32, signed: bool) -> u64 {
    let (position, length) = (position & FIELD_MASK, length & FIELD_MASK);
    if length == 0 {
        return 0;
    }
    let top = (position + length - 1).min(u64::from(bits) - 1);
    let negative = signed && value >> top & 1 == 1;
    (0..u64::from(bits)).fold(0, |field, at| {
        let from = position + at;
        let bit = if at < length && from < u64::from(bits) {
            value >> from & 1
        } else {
            u64::from(negative)
        };
        field | bit << at
    })
}

/// `bfi`: `base` with `length` bits from `position` on replaced by those of `field`.
pub(super) fn insert(field: u64, base: u64, position: u64, length: u64, bits: u32) -> u64 {
    let (position, length) = (position & FIELD_MASK, length & FIELD_MASK);
    let end = (position + length).min(u64::from(bits));
    (position..end).fold(base, |all, at| {
        all & !(1 << at) | (field >> (at - position) & 1) << at
    })
}

/// `prmt` in its default mode: each nibble of `selector` names a byte of `b:a`, or its sign.
pub(super) fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = a & mask(32) | b << 32;
    (0..4).fold(0, |all, at| {
        let nibble = selector >> (4 * at) & 0xf;
        let byte = bytes >> (8 * (nibble & 7)) & 0xff;
        let byte = match nibble >> 3 {
            0 => byte,
            _ => (byte >> 7) * 0xff,
        };
        all | byte << (8 * at)
    })
}

/// `lop3`: bit by bit, the table's entry at `a b c`.
pub(super) fn lookup(a: u64, b: u64, c: u64, table: u64) -> u64 {
    (0..8).fold(0, |all, entry| {
        if table >> entry & 1 == 0 {
            return all;
        }
        let pick = |value: u64, bit: u64| if entry >> bit & 1 == 1 { value } else { !value };
        all | pick(a, 2) & pick(b, 1) & pick(c, 0)
    })
}

/// `shf.l`: the upper half of `high:low` shifted left.
pub(super) fn funnel_left(low: u64, high: u64, shift: u64, wrap: bool) -> u64 {
    let both = high << 32 | low & mask(32);
    (both << funnel_shift(shift, wrap)) >> 32
}

/// `shf.r`: the lower half of `high:low` shifted right.
pub(super) fn funnel_right(low: u64, high: u64, shift: u64, wrap: bool) -> u64 {
    let both = high << 32 | low & mask(32);
    (both >> funnel_shift(shift, wrap)) & mask(32)
}

fn funnel_shift(shift: u64, wrap: bool) -> u64 {
    if wrap {
        shift & 31
    } else {
        (shift & mask(32)).min(32)
    }
}
