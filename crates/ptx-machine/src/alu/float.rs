//! Floating-point numbers: one rounding an operation, to nearest even.

use super::{AluKind, AluOp, Lanes, Rounding};
use crate::module::ScalarType;
use half::{bf16, f16};
use std::cmp::Ordering;

pub(super) fn is_supported(op: &AluOp) -> bool {
    let rounded = matches!(op.rounding, None | Some(Rounding::Rn));
    let arithmetic = matches!(
        op.kind,
        AluKind::Add
            | AluKind::Sub
            | AluKind::MulLo
            | AluKind::Fma
            | AluKind::Abs
            | AluKind::Neg
            | AluKind::Min
            | AluKind::Max
            | AluKind::MinNan
            | AluKind::MaxNan
    );
    let single = matches!(
        op.kind,
        AluKind::Div
            | AluKind::Rcp
            | AluKind::Sqrt
            | AluKind::Rsqrt
            | AluKind::Ex2
            | AluKind::Lg2
            | AluKind::Sin
            | AluKind::Cos
            | AluKind::Tanh
    );
    let double = matches!(op.kind, AluKind::Div | AluKind::Rcp | AluKind::Sqrt);
    let known = match op.ty {
        ScalarType::F32 => arithmetic || single,
        ScalarType::F64 => arithmetic || double,
        _ => arithmetic,
    };
    // `.sat` and `.ftz` are f32's here; the half types' are not supported.
    rounded && known && (op.ty == ScalarType::F32 || !op.saturate && !op.ftz)
}

pub(super) fn execute(op: &AluOp, sources: &[Lanes]) -> Lanes {
    let source = |at: usize, lane: usize| sources.get(at).map_or(0, |lanes| lanes[lane]);
    std::array::from_fn(|lane| {
        let raw = [0, 1, 2].map(|at| source(at, lane));
        match op.ty {
            ScalarType::F32 => u64::from(single(op, raw).to_bits()),
            ScalarType::F64 => double(op.kind, raw.map(f64::from_bits)).to_bits(),
            ScalarType::F16 => half(op.kind, raw, Format::F16),
            ScalarType::Bf16 => half(op.kind, raw, Format::Bf16),
            ScalarType::F16x2 => packed(op.kind, raw, Format::F16),
            _ => packed(op.kind, raw, Format::Bf16),
        }
    })
}

/// How two values compare, in the operation's type; `None` if one is NaN.
pub(super) fn order(op: &AluOp, a: u64, b: u64) -> Option<Ordering> {
    let value = |bits: u64| match op.ty {
        ScalarType::F32 if op.ftz => f64::from(flush(f32::from_bits(bits as u32))),
        ScalarType::F32 => f64::from(f32::from_bits(bits as u32)),
        ScalarType::F64 => f64::from_bits(bits),
        ScalarType::F16 => Format::F16.value(bits),
        _ => Format::Bf16.value(bits),
    };
    value(a).partial_cmp(&value(b))
}

/// A subnormal number as a zero of its sign.
pub(super) fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0.0_f32.copysign(value)
    } else {
        value
    }
}

fn single(op: &AluOp, raw: [u64; 3]) -> f32 {
    let [a, b, c] = raw.map(|bits| {
        let value = f32::from_bits(bits as u32);
        if op.ftz { flush(value) } else { value }
    });
    // Approximations by way of f64: one rounding.
    let approximate = |f: fn(f64) -> f64| f(f64::from(a)) as f32;
    let result = match op.kind {
        AluKind::Add => a + b,
        AluKind::Sub => a - b,
        AluKind::MulLo => a * b,
        AluKind::Fma => a.mul_add(b, c),
        AluKind::Div => a / b,
        AluKind::Abs => a.abs(),
        AluKind::Neg => -a,
        AluKind::Min => lower(a, b),
        AluKind::Max => higher(a, b),
        AluKind::MinNan if a.is_nan() || b.is_nan() => f32::NAN,
        AluKind::MinNan => lower(a, b),
        AluKind::MaxNan if a.is_nan() || b.is_nan() => f32::NAN,
        AluKind::MaxNan => higher(a, b),
        AluKind::Ex2 => approximate(f64::exp2),
        AluKind::Lg2 => approximate(f64::log2),
        AluKind::Rcp => 1.0 / a,
        AluKind::Sqrt => a.sqrt(),
        AluKind::Rsqrt => approximate(|x| 1.0 / x.sqrt()),
        AluKind::Sin => approximate(f64::sin),
        AluKind::Cos => approximate(f64::cos),
        AluKind::Tanh => approximate(f64::tanh),
        _ => unreachable!("`is_supported` refuses {op:?}"),
    };
    let result = if op.ftz { flush(result) } else { result };
    match op.saturate {
        // NaN becomes 0.
        true if result.is_nan() => 0.0,
        true => result.clamp(0.0, 1.0),
        false => canonical(result),
    }
}

/// NaN as the hardware gives it.
fn canonical(value: f32) -> f32 {
    if value.is_nan() {
        f32::from_bits(0x7fff_ffff)
    } else {
        value
    }
}

/// The smaller of two, with -0 below +0; the other one if one is NaN.
fn lower(a: f32, b: f32) -> f32 {
    if a == b {
        return if a.is_sign_negative() { a } else { b };
    }
    a.min(b)
}

/// The larger of two, with +0 above -0; the other one if one is NaN.
fn higher(a: f32, b: f32) -> f32 {
    if a == b {
        return if a.is_sign_negative() { b } else { a };
    }
    a.max(b)
}

fn double(kind: AluKind, [a, b, c]: [f64; 3]) -> f64 {
    match kind {
        AluKind::Add => a + b,
        AluKind::Sub => a - b,
        AluKind::MulLo => a * b,
        AluKind::Fma => a.mul_add(b, c),
        AluKind::Div => a / b,
        AluKind::Abs => a.abs(),
        AluKind::Neg => -a,
        AluKind::Min => a.min(b),
        AluKind::Max => a.max(b),
        AluKind::MinNan | AluKind::MaxNan if a.is_nan() || b.is_nan() => f64::NAN,
        AluKind::MinNan => a.min(b),
        AluKind::MaxNan => a.max(b),
        AluKind::Rcp => 1.0 / a,
        AluKind::Sqrt => a.sqrt(),
        _ => unreachable!("`is_supported` refuses {kind:?}"),
    }
}

/// A 16-bit format.
#[derive(Clone, Copy)]
pub(super) enum Format {
    F16,
    Bf16,
}

impl Format {
    pub(super) fn value(self, bits: u64) -> f64 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => bf16::from_bits(bits as u16).to_f64(),
        }
    }

    /// Rounded to nearest even.
    pub(super) fn bits(self, value: f64) -> u64 {
        // NaN as the hardware gives it.
        if value.is_nan() {
            return 0x7fff;
        }
        match self {
            Self::F16 => u64::from(f16::from_f64(value).to_bits()),
            Self::Bf16 => u64::from(bf16::from_f64(value).to_bits()),
        }
    }
}

fn packed(kind: AluKind, raw: [u64; 3], format: Format) -> u64 {
    let low = half(kind, raw, format);
    low | half(kind, raw.map(|bits| bits >> 16), format) << 16
}

fn half(kind: AluKind, raw: [u64; 3], format: Format) -> u64 {
    let [a, b, c] = raw.map(|bits| format.value(bits));
    // The sign alone: a NaN keeps its bits.
    match kind {
        AluKind::Abs => return raw[0] & 0x7fff,
        AluKind::Neg => return (raw[0] ^ 0x8000) & 0xffff,
        _ => {}
    }
    // Sums and products of two 16-bit numbers are exact in f64 or far below its last bit.
    format.bits(match kind {
        AluKind::Add => sum_to_odd(a, b),
        AluKind::Sub => sum_to_odd(a, -b),
        AluKind::MulLo => a * b,
        AluKind::Fma => sum_to_odd(a * b, c),
        AluKind::MinNan | AluKind::MaxNan if a.is_nan() || b.is_nan() => f64::NAN,
        AluKind::Min | AluKind::MinNan => a.min(b),
        AluKind::Max | AluKind::MaxNan => a.max(b),
        _ => unreachable!("`is_supported` refuses {kind:?}"),
    })
}

/// `a + b` rounded to odd: whatever rounds it next, to fewer bits, sees on which side of a tie the
/// exact sum lies (Boldo and Melquiond, 2008). The error of the sum is Knuth's.
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let back = sum - a;
    let error = (a - (sum - back)) + (b - back);
    if !sum.is_finite() || error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // One bit towards the exact sum.
    if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    }
}
