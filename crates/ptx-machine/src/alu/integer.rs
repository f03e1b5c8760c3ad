//! Integers: computed in 128 bits and cut to the type.

use super::bits::{extract, funnel_left, funnel_right, insert, lookup, mask, permute};
use super::{AluKind, AluOp, Lanes};
use crate::module::ScalarType;

/// `bits` as a number of type `ty`.
pub(super) fn wide(bits: u64, ty: ScalarType) -> i128 {
    let width = ty.bits();
    let value = bits & mask(width);
    if ty.is_signed() {
        i128::from((value << (64 - width)) as i64 >> (64 - width))
    } else {
        i128::from(value)
    }
}

/// The low bits of `value`, as many as a `ty` has.
pub(super) fn narrow(value: i128, ty: ScalarType) -> u64 {
    value as u64 & mask(ty.bits())
}

pub(super) fn is_supported(op: &AluOp) -> bool {
    let float_only = matches!(
        op.kind,
        AluKind::Fma
            | AluKind::Ex2
            | AluKind::Lg2
            | AluKind::Rcp
            | AluKind::Sqrt
            | AluKind::Rsqrt
            | AluKind::Sin
            | AluKind::Cos
            | AluKind::Tanh
    );
    let wide = matches!(op.kind, AluKind::MulWide | AluKind::MadWide);
    let logic = matches!(
        op.kind,
        AluKind::And | AluKind::Or | AluKind::Xor | AluKind::Not
    );
    let fits = match op.ty {
        ScalarType::Pred => logic,
        _ => !wide || op.ty.bits() <= 32,
    };
    fits && !float_only && !op.saturate && !op.ftz && op.rounding.is_none()
}

pub(super) fn execute(op: &AluOp, sources: &[Lanes]) -> Lanes {
    let source = |at: usize, lane: usize| sources.get(at).map_or(0, |lanes| lanes[lane]);
    std::array::from_fn(|lane| {
        let raw = [0, 1, 2, 3].map(|at| source(at, lane));
        one(op, raw)
    })
}

fn one(op: &AluOp, raw: [u64; 4]) -> u64 {
    let ty = op.ty;
    let width = ty.bits();
    let [a, b, c, _] = raw.map(|bits| wide(bits, ty));
    // The addend of mad.wide is twice as wide.
    let addend = wide(
        raw[2],
        if ty.is_signed() {
            ScalarType::S64
        } else {
            ScalarType::U64
        },
    );
    let result = match op.kind {
        AluKind::Add => a + b,
        AluKind::Sub => a - b,
        AluKind::MulLo => a.wrapping_mul(b),
        AluKind::MulHi => high(a, b, width),
        AluKind::MadLo => a.wrapping_mul(b).wrapping_add(c),
        AluKind::MadHi => high(a, b, width) + c,
        AluKind::MulWide => return (a * b) as u64 & mask(2 * width),
        AluKind::MadWide => return (a * b + addend) as u64 & mask(2 * width),
        // The hardware's result; the ISA leaves it open.
        AluKind::Div if b == 0 => -1,
        AluKind::Div => a / b,
        AluKind::Rem if b == 0 => a,
        AluKind::Rem => a % b,
        AluKind::Abs => a.abs(),
        AluKind::Neg => -a,
        AluKind::Min | AluKind::MinNan => a.min(b),
        AluKind::Max | AluKind::MaxNan => a.max(b),
        AluKind::And => a & b,
        AluKind::Or => a | b,
        AluKind::Xor => a ^ b,
        // Of a predicate too.
        AluKind::Not => !a,
        // Shifts take 32 bits and stop at the type's width.
        AluKind::Shl => a << shift(raw[1], width),
        AluKind::Shr => a >> shift(raw[1], width),
        AluKind::Popc => i128::from((raw[0] & mask(width)).count_ones()),
        AluKind::Clz => i128::from((raw[0] & mask(width)).leading_zeros() + width - 64),
        AluKind::Brev => i128::from(raw[0].reverse_bits() >> (64 - width)),
        AluKind::Bfe => return extract(raw[0], raw[1], raw[2], width, ty.is_signed()),
        AluKind::Bfi => return insert(raw[0], raw[1], raw[2], raw[3], width),
        AluKind::Prmt => return permute(raw[0], raw[1], raw[2]),
        AluKind::Lop3 => return lookup(raw[0], raw[1], raw[2], raw[3]) & mask(width),
        AluKind::ShfL { wrap } => return funnel_left(raw[0], raw[1], raw[2], wrap),
        AluKind::ShfR { wrap } => return funnel_right(raw[0], raw[1], raw[2], wrap),
        _ => unreachable!("`is_supported` refuses {op:?}"),
    };
    narrow(result, ty)
}

/// The upper half of a product. Unsigned 64-bit operands need all of 128 bits.
fn high(a: i128, b: i128, width: u32) -> i128 {
    if a >= 0 && b >= 0 {
        ((a as u128 * b as u128) >> width) as i128
    } else {
        (a * b) >> width
    }
}

fn shift(amount: u64, width: u32) -> u32 {
    (amount as u32).min(width)
}
