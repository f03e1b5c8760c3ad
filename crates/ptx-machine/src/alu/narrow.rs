//! f16 and bf16 arithmetic, alone or in pairs.
//!
//! Every operation is exact in f64 or rounded to odd there (see `round`), then rounded once.

use super::{
    AluKind as K, AluOp, Lanes, Rounding,
    format::{Format, format, value},
    lanes::{map, map2, map3},
    round, unknown,
};
use crate::module::ScalarType as T;

/// A narrow type and its modifiers.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    ty: T,
    format: Format,
    ftz: bool,
    saturate: bool,
}

const LOW: u64 = 0xFFFF;

impl Narrow {
    /// `None` for a type that is not narrow.
    pub(super) fn of(op: &AluOp) -> Option<Self> {
        let plain = Self::plain(op.ty)?;
        Some(Self {
            ftz: op.ftz,
            saturate: op.saturate,
            ..plain
        })
    }

    /// Without modifiers. `None` for a type that is not narrow.
    pub(super) fn plain(ty: T) -> Option<Self> {
        let format = format(ty).filter(|_| ty != T::F32)?;
        let (ftz, saturate) = (false, false);
        Some(Self {
            ty,
            format,
            ftz,
            saturate,
        })
    }

    fn source(self, bits: u64) -> u64 {
        if self.ftz {
            self.format.flush(bits & LOW)
        } else {
            bits & LOW
        }
    }

    pub(super) fn load(self, bits: u64) -> f64 {
        value(self.ty, self.source(bits))
    }

    /// A result that is exact or rounded to odd.
    pub(super) fn store(self, value: f64) -> u64 {
        let value = match self.saturate {
            true if value > 0.0 => value.min(1.0),
            true => 0.0,
            false => value,
        };
        let bits = self.format.round(value, Rounding::Rn);
        if self.ftz {
            self.format.flush(bits)
        } else {
            bits
        }
    }

    /// `f` of one half for each half of a packed type, or of the only one.
    pub(super) fn halves(self, f: impl Fn(u32) -> u64) -> u64 {
        match self.ty {
            T::F16x2 | T::Bf16x2 => f(0) | f(16) << 16,
            _ => f(0),
        }
    }

    /// The smaller one, or the greater one with `flip` at the sign.
    fn least(self, a: u64, b: u64, flip: u64, propagate: bool) -> u64 {
        let (a, b) = (self.source(a), self.source(b));
        let (nan_a, nan_b) = (self.format.is_nan(a), self.format.is_nan(b));
        match (nan_a, nan_b) {
            (true, true) => self.format.nan(),
            (true, false) | (false, true) if propagate => self.format.nan(),
            (true, false) => b,
            (false, true) => a,
            // Sign and magnitude as an integer of the same order.
            _ if self.order(a ^ flip) <= self.order(b ^ flip) => a,
            _ => b,
        }
    }

    /// `f` of a source's bits; of a NaN the canonical one, as hardware gives (the ISA leaves it open).
    fn signed(self, bits: u64, f: impl Fn(u64) -> u64) -> u64 {
        match self.source(bits) {
            source if self.format.is_nan(source) => self.format.nan(),
            source => f(source),
        }
    }

    fn order(self, bits: u64) -> i64 {
        let magnitude = (bits & !self.format.sign_mask()) as i64;
        if bits & self.format.sign_mask() == 0 {
            magnitude
        } else {
            -magnitude - 1
        }
    }
}

/// The operations of this file.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let Some(narrow) = Narrow::of(op) else {
        unknown(op)
    };
    let nearest = Rounding::Rn;
    let (load, store) = (|bits| narrow.load(bits), |value| narrow.store(value));
    let sign = narrow.format.sign_mask();
    let one = |f: &dyn Fn(u64) -> u64| map(sources, |a| narrow.halves(|h| f(a >> h)));
    let two = |f: &dyn Fn(u64, u64) -> u64| {
        map2(sources, |a, b| {
            narrow.halves(|half| f(a >> half, b >> half))
        })
    };
    let least = |flip, propagate| two(&|a, b| narrow.least(a, b, flip, propagate));
    match op.kind {
        K::Add => two(&|a, b| store(round::add(load(a), load(b), nearest))),
        K::Sub => two(&|a, b| store(round::add(load(a), -load(b), nearest))),
        K::MulLo => two(&|a, b| store(load(a) * load(b))),
        K::Fma => map3(sources, |a, b, c| {
            narrow.halves(|h| {
                store(round::fma(
                    load(a >> h),
                    load(b >> h),
                    load(c >> h),
                    nearest,
                ))
            })
        }),
        K::Abs => one(&|a| narrow.signed(a, |bits| bits & !sign)),
        K::Neg => one(&|a| narrow.signed(a, |bits| bits ^ sign)),
        K::Min => least(0, false),
        K::MinNan => least(0, true),
        K::Max => least(sign, false),
        K::MaxNan => least(sign, true),
        _ => unknown(op),
    }
}
