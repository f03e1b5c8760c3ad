//! `cvt`: between integers, between floats, and across.

use half::f16;

use super::{
    AluKind, AluOp, Lanes, Rounding,
    data::mask,
    format::{BRAIN, HALF, SINGLE, format, value},
    lanes::{map, map2},
    round, unknown,
};
use crate::module::ScalarType as T;

/// The conversion, then the extension to a wider register where the result needs one.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let converted = convert(op, sources);
    match op.kind {
        AluKind::CvtExtended { bits } if op.ty.is_signed() => map(&[&converted], |a| {
            signed(a, op.ty) as u64 & mask(bits.into())
        }),
        _ => converted,
    }
}

fn convert(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let (ty, source) = (op.ty, op.source);
    let rounding = op.rounding.unwrap_or(Rounding::Rn);
    match (is_integer(ty), is_integer(source)) {
        (true, true) if op.saturate => map(sources, |a| clamp(wide(a, source), ty)),
        (true, true) if source.is_signed() => {
            let mask = mask(ty.bits());
            map(sources, |a| signed(a, source) as u64 & mask)
        }
        (true, true) => {
            let mask = mask(ty.bits()) & mask(source.bits());
            map(sources, |a| a & mask)
        }
        (true, false) => map(sources, |a| to_integer(float(op, a), op, rounding)),
        (false, true) => map(sources, |a| from_integer(wide(a, source), op, rounding)),
        // The first source of a packed conversion is the upper half.
        (false, false) if ty == T::F16x2 && rounding == Rounding::Rn => {
            map2(sources, |a, b| nearest_half(a) << 16 | nearest_half(b))
        }
        (false, false) if ty == T::Bf16x2 && rounding == Rounding::Rn => {
            map2(sources, |a, b| nearest_brain(a) << 16 | nearest_brain(b))
        }
        (false, false) if matches!(ty, T::F16x2 | T::Bf16x2) => {
            let half = |a| store(float(op, a), op, rounding);
            map2(sources, |a, b| half(a) << 16 | half(b))
        }
        (false, false) => map(sources, |a| {
            store(integral(float(op, a), op.rounding), op, rounding)
        }),
    }
}

/// An f32 to f16, as kernels do it most.
fn nearest_half(bits: u64) -> u64 {
    let value = f32::from_bits(bits as u32);
    if value.is_nan() {
        HALF.nan()
    } else {
        f16::from_f32(value).to_bits().into()
    }
}

/// An f32 to bf16, as kernels do it most: the carry of a half, or of just less where the kept bits
/// are even.
#[inline]
fn nearest_brain(bits: u64) -> u64 {
    let bits = bits & 0xFFFF_FFFF;
    if SINGLE.is_nan(bits) {
        BRAIN.nan()
    } else {
        (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    }
}

fn is_integer(ty: T) -> bool {
    !matches!(
        ty,
        T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2 | T::F32 | T::F64
    )
}

/// The low bits of `a` as a signed integer of the width of `ty`.
fn signed(a: u64, ty: T) -> i64 {
    let unused = 64 - ty.bits();
    (a << unused) as i64 >> unused
}

fn wide(a: u64, ty: T) -> i128 {
    if ty.is_signed() {
        signed(a, ty).into()
    } else {
        (a & mask(ty.bits())).into()
    }
}

/// The nearest integer of type `ty`.
fn clamp(exact: i128, ty: T) -> u64 {
    let (low, high) = match ty.is_signed() {
        true => (
            -1 - i128::from(mask(ty.bits()) >> 1),
            i128::from(mask(ty.bits()) >> 1),
        ),
        false => (0, i128::from(mask(ty.bits()))),
    };
    exact.clamp(low, high) as u64 & mask(ty.bits())
}

/// The source of a conversion from a float.
fn float(op: &AluOp, bits: u64) -> f64 {
    let bits = bits & mask(op.source.bits());
    let flushed = op.ftz && op.source == T::F32;
    value(op.source, if flushed { SINGLE.flush(bits) } else { bits })
}

/// `value` rounded to an integer where `rounding` asks for it.
fn integral(value: f64, rounding: Option<Rounding>) -> f64 {
    match rounding {
        Some(Rounding::Rni) => value.round_ties_even(),
        Some(Rounding::Rzi) => value.trunc(),
        Some(Rounding::Rmi) => value.floor(),
        Some(Rounding::Rpi) => value.ceil(),
        _ => value,
    }
}

/// Clamped to the type's range, as the ISA says for every conversion to an integer.
fn to_integer(value: f64, op: &AluOp, rounding: Rounding) -> u64 {
    let bits = op.ty.bits();
    if value.is_nan() {
        // Zero, but for the wide conversions, which give the highest bit alone.
        let wide = op.source == T::F64 || bits == 64;
        return if wide { 1 << (bits - 1) } else { 0 };
    }
    // An f64 holds no integer that i128 would not: beyond, the cast clamps as well.
    clamp(integral(value, Some(rounding)) as i128, op.ty)
}

fn from_integer(exact: i128, op: &AluOp, rounding: Rounding) -> u64 {
    let (negative, magnitude) = (exact < 0, exact.unsigned_abs() as u64);
    if op.ty == T::F64 {
        let value = if negative {
            -(magnitude as f64)
        } else {
            magnitude as f64
        };
        let value = match rounding {
            Rounding::Rz if negative => towards(value, exact, false),
            Rounding::Rz | Rounding::Rm => towards(value, exact, true),
            Rounding::Rp => towards(value, exact, false),
            _ => value,
        };
        return saturated(value, op.saturate).to_bits();
    }
    store(round::integer(negative, magnitude), op, rounding)
}

/// `value`, which is next to `exact`, moved to the side that is not above (`down`) or not below it.
fn towards(value: f64, exact: i128, down: bool) -> f64 {
    let found = value as i128;
    match down {
        true if found > exact => value.next_down(),
        false if found < exact => value.next_up(),
        _ => value,
    }
}

fn saturated(value: f64, saturate: bool) -> f64 {
    match saturate {
        true if value > 0.0 => value.min(1.0),
        true => 0.0,
        false => value,
    }
}

/// `value`, exact or rounded to odd, as the bits of the result's float type.
fn store(value: f64, op: &AluOp, rounding: Rounding) -> u64 {
    let value = saturated(value, op.saturate);
    let Some(format) = format(op.ty) else {
        return if op.ty == T::F64 {
            value.to_bits()
        } else {
            unknown(op)
        };
    };
    if value.is_nan() && op.source == T::F64 && op.ty == T::F32 {
        return shortened_nan(value);
    }
    let bits = format.round(value, rounding);
    if op.ftz && op.ty == T::F32 {
        format.flush(bits)
    } else {
        bits
    }
}

/// A NaN of f64 as f32: quiet, with its sign and the upper part of its payload, as hardware gives.
fn shortened_nan(value: f64) -> u64 {
    const QUIET: u64 = 0x7FC0_0000;
    let bits = value.to_bits();
    bits >> 32 & 0x8000_0000 | QUIET | bits >> 29 & 0x003F_FFFF
}
