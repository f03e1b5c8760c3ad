//! f32 arithmetic.

use super::{
    AluKind as K, AluOp, Lanes, Rounding,
    format::SINGLE,
    lanes::{map, map2, map3},
    round, unknown,
};

/// What happens to the sources and the result of an f32 operation.
#[derive(Clone, Copy)]
pub(super) struct Modes {
    ftz: bool,
    saturate: bool,
}

impl Modes {
    pub(super) fn of(op: &AluOp) -> Self {
        Self {
            ftz: op.ftz,
            saturate: op.saturate,
        }
    }

    /// Without saturation.
    pub(super) fn flushing(ftz: bool) -> Self {
        let saturate = false;
        Self { ftz, saturate }
    }

    /// A source.
    #[inline]
    pub(super) fn load(self, bits: u64) -> f32 {
        let value = f32::from_bits(bits as u32);
        if self.ftz { flush(value) } else { value }
    }

    /// A result.
    #[inline]
    pub(super) fn store(self, value: f32) -> u64 {
        let value = if self.ftz { flush(value) } else { value };
        if self.saturate {
            // NaN and both zeros become positive zero.
            let clamped = if value > 0.0 { value.min(1.0) } else { 0.0 };
            return clamped.to_bits().into();
        }
        if value.is_nan() {
            SINGLE.nan()
        } else {
            value.to_bits().into()
        }
    }

    /// A result that was rounded to odd in f64.
    pub(super) fn store_rounded(self, value: f64, rounding: Rounding) -> u64 {
        let rounded = f32::from_bits(SINGLE.round(value, rounding) as u32);
        let to_nearest = rounding == Rounding::Rn;
        self.store_of(rounded, || value, to_nearest)
    }

    /// A result `rounded` from `exact`.
    ///
    /// Flushing looks at the result with 24 bits and any exponent. What only the coarser steps of the
    /// subnormal numbers round up to the smallest normal one is flushed too.
    #[inline]
    fn store_of(self, rounded: f32, exact: impl FnOnce() -> f64, to_nearest: bool) -> u64 {
        if self.ftz && rounded.abs() == f32::MIN_POSITIVE {
            let normal = f64::from(f32::MIN_POSITIVE);
            let step = f64::from(f32::EPSILON) / 2.0;
            let exact = exact().abs();
            let is_tiny = match to_nearest {
                true => exact < normal * (1.0 - step / 2.0),
                false => exact <= normal * (1.0 - step),
            };
            if is_tiny {
                return self.store(0.0f32.copysign(rounded));
            }
        }
        self.store(rounded)
    }
}

#[inline]
fn flush(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE {
        0.0f32.copysign(value)
    } else {
        value
    }
}

/// The operations of this file.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let modes = Modes::of(op);
    let load = |bits| modes.load(bits);
    match op.rounding.unwrap_or(Rounding::Rn) {
        Rounding::Rn => nearest(op, modes, sources),
        rounding => {
            let wide = |bits| f64::from(load(bits));
            let store = |value| modes.store_rounded(value, rounding);
            match op.kind {
                K::Add => map2(sources, |a, b| {
                    store(round::add(wide(a), wide(b), rounding))
                }),
                K::Sub => map2(sources, |a, b| {
                    store(round::add(wide(a), -wide(b), rounding))
                }),
                K::MulLo => map2(sources, |a, b| store(wide(a) * wide(b))),
                K::Fma => map3(sources, |a, b, c| {
                    store(round::fma(wide(a), wide(b), wide(c), rounding))
                }),
                K::DivRn => map2(sources, |a, b| store(round::div(wide(a), wide(b)))),
                _ => unknown(op),
            }
        }
    }
}

fn nearest(op: &AluOp, modes: Modes, sources: &[&Lanes]) -> Lanes {
    let (load, store) = (|bits| modes.load(bits), |value| modes.store(value));
    match op.kind {
        K::Add => map2(sources, |a, b| store(load(a) + load(b))),
        K::Sub => map2(sources, |a, b| store(load(a) - load(b))),
        K::MulLo => map2(sources, |a, b| {
            let (a, b) = (load(a), load(b));
            modes.store_of(a * b, || f64::from(a) * f64::from(b), true)
        }),
        K::Fma => map3(sources, |a, b, c| {
            let (a, b, c) = (load(a), load(b), load(c));
            let exact = || round::fma(a.into(), b.into(), c.into(), Rounding::Rn);
            modes.store_of(a.mul_add(b, c), exact, true)
        }),
        K::DivRn | K::DivFull => map2(sources, |a, b| store(load(a) / load(b))),
        K::DivApprox => map2(sources, |a, b| {
            store(approximate_quotient(load(a), load(b)))
        }),
        K::Abs => map(sources, |a| load(a).abs().to_bits().into()),
        K::Neg => map(sources, |a| (-load(a)).to_bits().into()),
        K::Min => map2(sources, |a, b| store(minimum(load(a), load(b)))),
        K::Max => map2(sources, |a, b| store(-minimum(-load(a), -load(b)))),
        K::MinNan => map2(sources, |a, b| store(propagate(load(a), load(b), minimum))),
        K::MaxNan => map2(sources, |a, b| {
            store(propagate(load(a), load(b), |a, b| -minimum(-a, -b)))
        }),
        _ => unknown(op),
    }
}

/// The one that is a number if the other is NaN; negative zero is below positive zero.
#[inline]
fn minimum(a: f32, b: f32) -> f32 {
    if a == b {
        // Equal values have equal bits, but for the zeros.
        return f32::from_bits(a.to_bits() | b.to_bits());
    }
    if a < b || b.is_nan() { a } else { b }
}

#[inline]
fn propagate(a: f32, b: f32, f: impl Fn(f32, f32) -> f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        f32::NAN
    } else {
        f(a, b)
    }
}

/// `a (1 / b)`: the ISA gives 0 for divisors whose reciprocal is subnormal.
fn approximate_quotient(a: f32, b: f32) -> f32 {
    /// 2^126.
    const LARGE: f32 = f32::from_bits(0x7E80_0000);
    if b.abs() > LARGE && b.is_finite() && !a.is_nan() {
        return if a.is_infinite() {
            f32::NAN
        } else {
            0.0f32.copysign(a * b.signum())
        };
    }
    a / b
}
