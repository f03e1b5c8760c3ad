//! Exact results, rounded once.
//!
//! A sum or a product of narrow floats need not fit in an f64, and rounding it there to nearest and
//! then again to its type could round a tie the wrong way. So it is rounded *to odd* first: an
//! inexact result takes whichever of its two neighbors has an odd significand. That keeps on which side
//! of every shorter number and of every tie it lies, as long as f64 has at least two bits more than the
//! type (53 against 24, 11 and 8), so that the second rounding, in any direction, is that of the
//! exact value. No f32 or narrower operand brings an f64 near its own overflow or underflow.

use super::Rounding;

/// The rounded-to-odd value of `nearest + error`, where `nearest` is the sum's nearest f64; only the
/// sign of `error` matters.
fn to_odd(nearest: f64, error: f64) -> f64 {
    let bits = nearest.to_bits();
    if error == 0.0 || !nearest.is_finite() || bits & 1 == 1 {
        return nearest;
    }
    let outwards = (error > 0.0) == (nearest > 0.0);
    f64::from_bits(if outwards { bits + 1 } else { bits - 1 })
}

/// `a + b`, rounded to odd.
pub(super) fn add(a: f64, b: f64, rounding: Rounding) -> f64 {
    let sum = a + b;
    if sum == 0.0 && rounding == Rounding::Rm && a.is_sign_negative() != b.is_sign_negative() {
        // The exact zero of two signs is negative when rounding downwards only.
        return -0.0;
    }
    // Knuth's two-sum: what the sum lost, exactly.
    let from_b = sum - a;
    let error = (a - (sum - from_b)) + (b - from_b);
    to_odd(sum, if error.is_nan() { 0.0 } else { error })
}

/// `a b + c`, rounded to odd: the product of two values of at most 24 bits is exact.
pub(super) fn fma(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    add(a * b, c, rounding)
}

/// `a / b`, rounded to odd, for values of at most 24 bits.
pub(super) fn div(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if quotient == 0.0 || !quotient.is_finite() || b.is_infinite() {
        return quotient;
    }
    let rest = (-quotient).mul_add(b, a);
    to_odd(quotient, if b > 0.0 { rest } else { -rest })
}

/// The square root, rounded to odd, of a value of at most 24 bits.
pub(super) fn sqrt(a: f64) -> f64 {
    let root = a.sqrt();
    if root == 0.0 || !root.is_finite() {
        return root;
    }
    to_odd(root, (-root).mul_add(root, a))
}

/// An integer, rounded to odd: the low bits that do not fit become one sticky bit.
pub(super) fn integer(negative: bool, magnitude: u64) -> f64 {
    const SPARE_BITS: u32 = 11;
    let value = if magnitude >> 53 == 0 {
        magnitude as f64
    } else {
        let sticky = u64::from(magnitude & ((1 << SPARE_BITS) - 1) != 0);
        (magnitude >> SPARE_BITS | sticky) as f64 * f64::from(1u32 << SPARE_BITS)
    };
    if negative { -value } else { value }
}
