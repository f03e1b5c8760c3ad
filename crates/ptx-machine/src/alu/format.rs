//! The binary formats below f64, and the one rounding from f64 to them.

use half::f16;

use super::Rounding;
use crate::module::ScalarType;

/// A binary interchange format.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Stored bits of the significand.
    significand: u32,
    /// Exponent of the smallest normal number.
    least: i32,
    /// Bits of infinity.
    infinity: u64,
    /// Bits of the canonical NaN.
    nan: u64,
    /// Bits in all, less one.
    sign: u32,
}

/// f16: 5 bits of exponent, 10 of significand.
pub(super) const HALF: Format = Format {
    significand: 10,
    least: -14,
    infinity: 0x7C00,
    nan: 0x7FFF,
    sign: 15,
};
/// bf16: 8 bits of exponent, 7 of significand.
pub(super) const BRAIN: Format = Format {
    significand: 7,
    least: -126,
    infinity: 0x7F80,
    nan: 0x7FFF,
    sign: 15,
};
/// f32: 8 bits of exponent, 23 of significand.
pub(super) const SINGLE: Format = Format {
    significand: 23,
    least: -126,
    infinity: 0x7F80_0000,
    nan: 0x7FFF_FFFF,
    sign: 31,
};

impl Format {
    /// The bits of `value` in this format. `value` is exact, or rounded to odd.
    pub(super) fn round(&self, value: f64, rounding: Rounding) -> u64 {
        const STORED: u32 = 52;
        if value.is_nan() {
            return self.nan;
        }
        let bits = value.to_bits();
        let negative = bits >> 63 == 1;
        let sign = u64::from(negative) << self.sign;
        let (field, stored) = (bits >> STORED & 0x7FF, bits & ((1 << STORED) - 1));
        if field == 0x7FF {
            return sign | self.infinity;
        }
        let significand = stored | u64::from(field != 0) << STORED;
        let exponent = (field as i32).max(1) - 1023;
        let kept = exponent.max(self.least);
        // Below one unit of the smallest subnormal every shift drops everything.
        let shift = (STORED - self.significand + (kept - exponent) as u32).min(STORED + 3);
        let (whole, rest) = (significand >> shift, significand & ((1 << shift) - 1));
        let tie = 1 << (shift - 1);
        let up = match rounding {
            Rounding::Rm | Rounding::Rmi => negative && rest != 0,
            Rounding::Rp | Rounding::Rpi => !negative && rest != 0,
            Rounding::Rz | Rounding::Rzi => false,
            Rounding::Rn | Rounding::Rni => rest > tie || rest == tie && whole & 1 == 1,
        };
        // A carry out of the significand moves into the exponent, which is what it means.
        let steps = ((kept - self.least) as u64) << self.significand;
        let magnitude = steps + whole + u64::from(up);
        if magnitude < self.infinity {
            return sign | magnitude;
        }
        let outwards = match rounding {
            Rounding::Rm | Rounding::Rmi => negative,
            Rounding::Rp | Rounding::Rpi => !negative,
            Rounding::Rz | Rounding::Rzi => false,
            Rounding::Rn | Rounding::Rni => true,
        };
        sign | if outwards {
            self.infinity
        } else {
            self.infinity - 1
        }
    }

    /// `bits` with a subnormal made a zero of its sign.
    pub(super) fn flush(&self, bits: u64) -> u64 {
        let magnitude = bits & ((1 << self.sign) - 1);
        if magnitude < 1 << self.significand {
            bits & 1 << self.sign
        } else {
            bits
        }
    }

    /// Whether `bits` are a NaN.
    pub(super) fn is_nan(&self, bits: u64) -> bool {
        bits & ((1 << self.sign) - 1) > self.infinity
    }

    /// Bits of the canonical NaN.
    pub(super) fn nan(&self) -> u64 {
        self.nan
    }

    /// The sign bit.
    pub(super) fn sign_mask(&self) -> u64 {
        1 << self.sign
    }
}

/// The format of a float type below f64, or of the halves of a packed one.
pub(super) fn format(ty: ScalarType) -> Option<Format> {
    match ty {
        ScalarType::F16 | ScalarType::F16x2 => Some(HALF),
        ScalarType::Bf16 | ScalarType::Bf16x2 => Some(BRAIN),
        ScalarType::F32 => Some(SINGLE),
        _ => None,
    }
}

/// The value of a scalar float's bits, exactly.
pub(super) fn value(ty: ScalarType, bits: u64) -> f64 {
    match ty {
        ScalarType::F64 => f64::from_bits(bits),
        ScalarType::F32 => f32::from_bits(bits as u32).into(),
        ScalarType::Bf16 | ScalarType::Bf16x2 => f32::from_bits((bits as u32) << 16).into(),
        _ => f16::from_bits(bits as u16).to_f64(),
    }
}
