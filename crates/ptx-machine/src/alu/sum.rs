//! The sum of two floats, one by one: what `atom.add` and `red.add` do to memory.

use super::{Rounding, narrow::Narrow, round, single::Modes};
use crate::module::ScalarType as T;

/// What happens to subnormal f32 operands and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subnormals {
    /// They become zeros of their sign.
    Flush,
    /// They stay as they are.
    Keep,
}

/// `a + b` to nearest, in each half of a packed type; `None` for a type that is no float.
///
/// `subnormals` is for f32 alone: `.noftz` keeps those of the narrow types, and f64 has no flush.
pub(crate) fn sum(ty: T, a: u64, b: u64, subnormals: Subnormals) -> Option<u64> {
    match ty {
        T::F32 => {
            let modes = Modes::flushing(subnormals == Subnormals::Flush);
            Some(modes.store(modes.load(a) + modes.load(b)))
        }
        T::F64 => Some((f64::from_bits(a) + f64::from_bits(b)).to_bits()),
        _ => {
            let narrow = Narrow::plain(ty)?;
            let add = |a, b| round::add(narrow.load(a), narrow.load(b), Rounding::Rn);
            Some(narrow.halves(|half| narrow.store(add(a >> half, b >> half))))
        }
    }
}
