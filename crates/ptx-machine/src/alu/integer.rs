//! Integer arithmetic, modulo the width of the type.

use super::{
    AluKind as K, AluOp, Lanes,
    lanes::{map, map2, map3},
    unknown,
};
use crate::module::ScalarType as T;

/// An integer of one width and sign, as the lanes hold it.
trait Integer: Copy + Ord {
    fn load(bits: u64) -> Self;
    fn store(self) -> u64;
    /// Without loss: 128 bits hold every product of two.
    fn wide(self) -> i128;
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_sub(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn high(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    fn negate(self) -> Self;
    fn magnitude(self) -> Self;
}

macro_rules! integer {
    ($($ty:ident $unsigned:ident $double:ident),*) => {$(
        impl Integer for $ty {
            #[inline]
            fn load(bits: u64) -> Self {
                bits as $ty
            }
            #[inline]
            fn store(self) -> u64 {
                self as $unsigned as u64
            }
            #[inline]
            fn wide(self) -> i128 {
                self as i128
            }
            #[inline]
            fn wrapping_add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn wrapping_sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn wrapping_mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn high(self, other: Self) -> Self {
                ((self as $double * other as $double) >> $ty::BITS) as $ty
            }
            #[inline]
            fn div(self, other: Self) -> Self {
                if other == 0 { $unsigned::MAX as $ty } else { self.wrapping_div(other) }
            }
            #[inline]
            fn rem(self, other: Self) -> Self {
                if other == 0 { self } else { self.wrapping_rem(other) }
            }
            #[inline]
            fn negate(self) -> Self {
                self.wrapping_neg()
            }
            #[inline]
            #[allow(unused_comparisons, reason = "the unsigned types have no absolute value")]
            fn magnitude(self) -> Self {
                if self < 0 { self.wrapping_neg() } else { self }
            }
        }
    )*};
}

integer!(
    u16 u16 u32, i16 u16 i32, u32 u32 u64, i32 u32 i64, u64 u64 u128, i64 u64 i128
);

/// The operations of this file, in the type of `op`.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    match op.ty {
        T::U16 | T::B16 => typed::<u16>(op, sources),
        T::S16 => typed::<i16>(op, sources),
        T::U32 | T::B32 => typed::<u32>(op, sources),
        T::S32 => typed::<i32>(op, sources),
        T::U64 | T::B64 => typed::<u64>(op, sources),
        T::S64 => typed::<i64>(op, sources),
        _ => unknown(op),
    }
}

fn typed<I: Integer>(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    match op.kind {
        K::Add if op.saturate => map2(sources, |a, b| {
            clamped(I::load(a).wide() + I::load(b).wide())
        }),
        K::Sub if op.saturate => map2(sources, |a, b| {
            clamped(I::load(a).wide() - I::load(b).wide())
        }),
        K::Add => map2(sources, |a, b| I::load(a).wrapping_add(I::load(b)).store()),
        K::Sub => map2(sources, |a, b| I::load(a).wrapping_sub(I::load(b)).store()),
        K::MulLo => map2(sources, |a, b| I::load(a).wrapping_mul(I::load(b)).store()),
        K::MulHi => map2(sources, |a, b| I::load(a).high(I::load(b)).store()),
        K::MadLo => map3(sources, |a, b, c| {
            I::load(a)
                .wrapping_mul(I::load(b))
                .wrapping_add(I::load(c))
                .store()
        }),
        K::MadHi => map3(sources, |a, b, c| {
            I::load(a).high(I::load(b)).wrapping_add(I::load(c)).store()
        }),
        K::MulWide | K::MadWide => wide::<I>(op, sources),
        K::Div => map2(sources, |a, b| I::load(a).div(I::load(b)).store()),
        K::Rem => map2(sources, |a, b| I::load(a).rem(I::load(b)).store()),
        K::Min => map2(sources, |a, b| I::load(a).min(I::load(b)).store()),
        K::Max => map2(sources, |a, b| I::load(a).max(I::load(b)).store()),
        K::MinRelu => map2(sources, |a, b| {
            I::load(a).min(I::load(b)).max(I::load(0)).store()
        }),
        K::MaxRelu => map2(sources, |a, b| {
            I::load(a).max(I::load(b)).max(I::load(0)).store()
        }),
        K::Abs => map(sources, |a| I::load(a).magnitude().store()),
        K::Neg => map(sources, |a| I::load(a).negate().store()),
        _ => unknown(op),
    }
}

/// Twice the width: the ISA has it up to 32 bits, so that 64 bits hold every result modulo.
fn wide<I: Integer>(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let mask = super::data::mask(2 * op.ty.bits());
    let product = |a, b| (I::load(a).wide() as i64).wrapping_mul(I::load(b).wide() as i64) as u64;
    match op.kind {
        K::MulWide => map2(sources, |a, b| product(a, b) & mask),
        _ => map3(sources, |a, b, c| product(a, b).wrapping_add(c) & mask),
    }
}

/// The sum of two s32, clamped: the only integer type with `.sat`.
fn clamped(exact: i128) -> u64 {
    let bound = exact.clamp(i32::MIN.into(), i32::MAX.into());
    (bound as i32 as u32).into()
}
