//! Rounding against exact arithmetic in integers.

use half::f16;
use proptest::prelude::*;

use super::{AluKind as K, op, rounded, run, single};
use crate::{
    alu::Rounding::{self, Rm, Rn, Rp, Rz},
    module::ScalarType::{Bf16, F16, F32},
};

/// A finite f16 as a multiple of 2^-24.
fn units(bits: u16) -> i128 {
    let magnitude = match (bits >> 10 & 0x1F, i128::from(bits & 0x3FF)) {
        (0, stored) => stored,
        (exponent, stored) => (stored + 1024) << (exponent - 1),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

/// The f16 nearest to `exact`, a multiple of 2^-48, by search among all of them.
fn nearest(exact: i128) -> u16 {
    let magnitude = exact.abs();
    let value = |bits: u16| {
        if bits == 0x7C00 {
            1 << (16 + 48)
        } else {
            units(bits) << 24
        }
    };
    let (mut low, mut high) = (0u16, 0x7C00);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if value(middle) <= magnitude {
            low = middle
        } else {
            high = middle - 1
        }
    }
    if low < 0x7C00 {
        let (below, above) = (magnitude - value(low), value(low + 1) - magnitude);
        if above < below || above == below && low & 1 == 1 {
            low += 1;
        }
    }
    if exact < 0 { low | 0x8000 } else { low }
}

fn finite_half() -> impl Strategy<Value = u16> {
    any::<u16>().prop_filter("finite", |&bits| f16::from_bits(bits).is_finite())
}

/// An f32 such that sums of two are exact in f64.
fn moderate() -> impl Strategy<Value = f32> {
    (any::<u32>(), 115u32..140)
        .prop_map(|(bits, exponent)| f32::from_bits(bits & 0x807F_FFFF | exponent << 23))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn half_fma_is_the_nearest_to_the_exact_value(
        a in finite_half(),
        b in finite_half(),
        c in finite_half(),
    ) {
        let exact = units(a) * units(b) + (units(c) << 24);
        prop_assume!(exact != 0);
        let found = run(op(K::Fma, F16), &[a.into(), b.into(), c.into()]);
        prop_assert_eq!(found, u64::from(nearest(exact)));
    }

    #[test]
    fn half_sums_and_products_are_the_nearest(a in finite_half(), b in finite_half()) {
        let sum = (units(a) + units(b)) << 24;
        if sum != 0 {
            let found = run(op(K::Add, F16), &[a.into(), b.into()]);
            prop_assert_eq!(found, u64::from(nearest(sum)));
        }
        let product = units(a) * units(b);
        if product != 0 {
            let found = run(op(K::MulLo, F16), &[a.into(), b.into()]);
            prop_assert_eq!(found, u64::from(nearest(product)));
        }
    }

    #[test]
    fn brain_fma_of_an_exact_f32_fma_is_rounded_once(a: u8, b: u8, c: u8) {
        // Integers below 256 have an exact fma in f32, so that rounding it is rounding once.
        let bits = |value: u8| u64::from(half::bf16::from_f32(value.into()).to_bits());
        let exact = f32::from(a) * f32::from(b) + f32::from(c);
        let expected = u64::from(half::bf16::from_f32(exact).to_bits());
        prop_assert_eq!(run(op(K::Fma, Bf16), &[bits(a), bits(b), bits(c)]), expected);
    }

    #[test]
    fn directed_sums_enclose_the_exact_one(a in moderate(), b in moderate()) {
        let exact = f64::from(a) + f64::from(b);
        check(K::Add, &[single(a), single(b)], exact)?;
        let exact = f64::from(a) - f64::from(b);
        check(K::Sub, &[single(a), single(b)], exact)?;
    }

    #[test]
    fn directed_products_enclose_the_exact_one(a in any::<f32>(), b in any::<f32>()) {
        prop_assume!(a.is_finite() && b.is_finite());
        check(K::MulLo, &[single(a), single(b)], f64::from(a) * f64::from(b))?;
    }

    #[test]
    fn single_fma_to_nearest_equals_the_directed_path(
        a in any::<f32>(), b in any::<f32>(), c in any::<f32>(),
    ) {
        // Both neighbors by the path through f64, one of which the processor's fma must give.
        let sources = [single(a), single(b), single(c)];
        let down = run(rounded(K::Fma, F32, Rm), &sources);
        let up = run(rounded(K::Fma, F32, Rp), &sources);
        let found = run(rounded(K::Fma, F32, Rn), &sources);
        prop_assert!(found == down || found == up);
    }
}

/// The roundings of one operation must enclose its exact value, with nothing between them.
fn check(kind: K, sources: &[u64], exact: f64) -> Result<(), TestCaseError> {
    let by = |rounding: Rounding| f32::from_bits(run(rounded(kind, F32, rounding), sources) as u32);
    let (down, up, zero, near) = (by(Rm), by(Rp), by(Rz), by(Rn));
    prop_assert!(f64::from(down) <= exact && exact <= f64::from(up));
    prop_assert!(down == up || down.next_up() == up);
    prop_assert_eq!(zero, if exact < 0.0 { up } else { down });
    prop_assert_eq!(near, exact as f32);
    Ok(())
}
