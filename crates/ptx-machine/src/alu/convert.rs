//! `cvt`: between widths, between integers and floating-point numbers.

use super::float::{Format, flush};
use super::integer::{narrow, wide};
use super::{AluOp, Lanes, Rounding};
use crate::module::ScalarType;

/// Bits of an f32 that a bf16 does not have.
const BF16_CUT: u32 = 16;

pub(super) fn is_supported(op: &AluOp) -> bool {
    let packed = matches!(op.ty, ScalarType::F16x2 | ScalarType::Bf16x2);
    let integral = matches!(
        op.rounding,
        Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi)
    );
    let narrowing = op.source.bits() > op.ty.bits();
    let half = matches!(op.ty, ScalarType::F16 | ScalarType::Bf16);
    let from_packed = matches!(op.source, ScalarType::F16x2 | ScalarType::Bf16x2);
    if op.ty == ScalarType::Pred || op.source == ScalarType::Pred || from_packed {
        return false;
    }
    match (op.ty.is_float(), op.source.is_float()) {
        (true, true) if packed => {
            let rounded = matches!(op.rounding, Some(Rounding::Rn | Rounding::Rz));
            op.source == ScalarType::F32 && rounded && !op.saturate
        }
        (true, true) if op.ty == op.source => integral || op.rounding.is_none(),
        (true, true) if narrowing => match op.rounding {
            Some(Rounding::Rn) => true,
            Some(Rounding::Rz) => half && op.source == ScalarType::F32,
            _ => false,
        },
        (true, true) => op.rounding.is_none(),
        (true, false) => op.rounding == Some(Rounding::Rn),
        (false, true) => integral,
        (false, false) => op.rounding.is_none() && !op.ftz,
    }
}

pub(super) fn execute(op: &AluOp, sources: &[Lanes]) -> Lanes {
    std::array::from_fn(|lane| {
        let bits = sources[0][lane];
        match op.ty {
            ScalarType::F16x2 | ScalarType::Bf16x2 => {
                let format = match op.ty {
                    ScalarType::F16x2 => Format::F16,
                    _ => Format::Bf16,
                };
                let half = |bits| to_half(single(op, bits), format, op.rounding);
                half(sources[1][lane]) | half(bits) << 16
            }
            _ if op.source.is_float() && op.ty.is_float() => float_to_float(op, bits),
            _ if op.source.is_float() => float_to_integer(op, bits),
            _ if op.ty.is_float() => integer_to_float(op.ty, wide(bits, op.source)),
            _ => integer_to_integer(op, wide(bits, op.source)),
        }
    })
}

fn single(op: &AluOp, bits: u64) -> f32 {
    let value = f32::from_bits(bits as u32);
    if op.ftz { flush(value) } else { value }
}

fn to_half(value: f32, format: Format, rounding: Option<Rounding>) -> u64 {
    let rounded = format.bits(f64::from(value));
    if rounding != Some(Rounding::Rz) || value.is_nan() {
        return rounded;
    }
    if let Format::Bf16 = format {
        return u64::from(value.to_bits() >> BF16_CUT);
    }
    // The nearest one, or its neighbour towards zero where that rounded away from it. An overflow
    // to infinity goes back to the largest number in the same way.
    let away = format.value(rounded).abs() > f64::from(value.abs());
    let exact = value.is_infinite();
    rounded - u64::from(away && !exact)
}

fn value(op: &AluOp, bits: u64) -> f64 {
    match op.source {
        ScalarType::F16 => Format::F16.value(bits),
        ScalarType::Bf16 => Format::Bf16.value(bits),
        ScalarType::F32 => f64::from(single(op, bits)),
        _ => f64::from_bits(bits),
    }
}

/// To a whole number, as the rounding says.
fn whole(value: f64, rounding: Option<Rounding>) -> f64 {
    match rounding {
        Some(Rounding::Rni) => value.round_ties_even(),
        Some(Rounding::Rzi) => value.trunc(),
        Some(Rounding::Rmi) => value.floor(),
        Some(Rounding::Rpi) => value.ceil(),
        _ => value,
    }
}

fn float_to_float(op: &AluOp, bits: u64) -> u64 {
    let value = whole(value(op, bits), op.rounding);
    let value = match op.saturate {
        true if value.is_nan() => 0.0,
        true => value.clamp(0.0, 1.0),
        false => value,
    };
    match op.ty {
        ScalarType::F16 => half_from(op, value, Format::F16),
        ScalarType::Bf16 => half_from(op, value, Format::Bf16),
        ScalarType::F32 => {
            let value = value as f32;
            let value = if op.ftz { flush(value) } else { value };
            u64::from(if value.is_nan() {
                0x7fff_ffff
            } else {
                value.to_bits()
            })
        }
        _ => value.to_bits(),
    }
}

fn half_from(op: &AluOp, value: f64, format: Format) -> u64 {
    match op.rounding {
        // Only of f32, so nothing is lost.
        Some(Rounding::Rz) => to_half(value as f32, format, op.rounding),
        _ => format.bits(value),
    }
}

/// Out of range gives the end of the range, NaN gives 0.
fn float_to_integer(op: &AluOp, bits: u64) -> u64 {
    let value = whole(value(op, bits), op.rounding);
    // A cast saturates, and 128 bits hold every 64-bit end.
    let (low, high) = range(op.ty);
    narrow((value as i128).clamp(low, high), op.ty)
}

fn range(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

fn integer_to_float(ty: ScalarType, value: i128) -> u64 {
    match ty {
        ScalarType::F32 => u64::from((value as f32).to_bits()),
        ScalarType::F64 => (value as f64).to_bits(),
        // By way of f64, to odd: integers of more than 53 bits would be rounded twice.
        ScalarType::F16 => Format::F16.bits(to_odd(value)),
        _ => Format::Bf16.bits(to_odd(value)),
    }
}

fn to_odd(value: i128) -> f64 {
    let nearest = value as f64;
    let back = nearest as i128;
    if back == value || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    let outwards = (value.abs() > back.abs()) as u64;
    f64::from_bits(nearest.to_bits() + outwards - (1 - outwards))
}

fn integer_to_integer(op: &AluOp, value: i128) -> u64 {
    let (low, high) = range(op.ty);
    let value = if op.saturate {
        value.clamp(low, high)
    } else {
        value
    };
    narrow(value, op.ty)
}
