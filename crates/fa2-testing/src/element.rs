//! The element types of Q, K, V and O, as the oracle and the composed computation see them.

use half::{bf16, f16};

/// A floating-point format.
pub trait Element: Copy + Send + Sync + PartialEq + std::fmt::Debug + 'static {
    /// For messages.
    const NAME: &'static str;
    /// Distance from 1 to the next larger value.
    const EPSILON: f64;
    /// A NaN whose bits no computation produces, so that what was not written can be told from a
    /// wrong value.
    const POISON: Self;

    /// Rounds to nearest.
    fn from_f64(value: f64) -> Self;
    /// Rounds to nearest.
    fn from_f32(value: f32) -> Self;
    /// Exact.
    fn to_f32(self) -> f32;
    /// Exact.
    fn to_f64(self) -> f64;
    /// Whether the bits are those of [`POISON`](Self::POISON).
    fn is_poison(self) -> bool;
}

impl Element for f32 {
    const NAME: &'static str = "f32";
    const EPSILON: f64 = f32::EPSILON as f64;
    const POISON: Self = f32::from_bits(0x7fc5_a5a5);

    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn from_f32(value: f32) -> Self {
        value
    }

    fn to_f32(self) -> f32 {
        self
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn is_poison(self) -> bool {
        self.to_bits() == Self::POISON.to_bits()
    }
}

macro_rules! half_element {
    ($type:ty, $name:literal, $epsilon:expr, $poison:literal) => {
        impl Element for $type {
            const NAME: &'static str = $name;
            const EPSILON: f64 = $epsilon;
            const POISON: Self = <$type>::from_bits($poison);

            fn from_f64(value: f64) -> Self {
                <$type>::from_f64(value)
            }

            fn from_f32(value: f32) -> Self {
                <$type>::from_f32(value)
            }

            fn to_f32(self) -> f32 {
                self.to_f32()
            }

            fn to_f64(self) -> f64 {
                self.to_f64()
            }

            fn is_poison(self) -> bool {
                self.to_bits() == $poison
            }
        }
    };
}

half_element!(f16, "f16", 1.0 / 1024.0, 0x7e5a);
half_element!(bf16, "bf16", 1.0 / 128.0, 0x7fda);

#[cfg(test)]
mod tests {
    use super::*;

    fn check<E: Element>() {
        let next = E::from_f64(1.0 + E::EPSILON);
        assert_eq!(next.to_f64(), 1.0 + E::EPSILON, "{}", E::NAME);
        // Half an epsilon is a tie, which goes to the even neighbor: 1.
        assert_eq!(
            E::from_f64(1.0 + E::EPSILON / 2.0).to_f64(),
            1.0,
            "{}",
            E::NAME
        );
        assert!(
            E::POISON.to_f64().is_nan() && E::POISON.is_poison(),
            "{}",
            E::NAME
        );
        assert!(!E::from_f64(f64::NAN).is_poison(), "{}", E::NAME);
    }

    #[test]
    fn epsilon_and_poison_are_those_of_the_format() {
        check::<f32>();
        check::<f16>();
        check::<bf16>();
    }
}
