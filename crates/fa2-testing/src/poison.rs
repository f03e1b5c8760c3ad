//! NaN-filled buffers: what an engine must overwrite, and what it must not touch.

use crate::element::Element;

/// A buffer in which every element is poison.
#[must_use]
pub fn poisoned<E: Element>(len: usize) -> Vec<E> {
    vec![E::POISON; len]
}

/// Index of the first element that was never written.
#[must_use]
pub fn first_unwritten<E: Element>(values: &[E]) -> Option<usize> {
    values.iter().position(|value| value.is_poison())
}

/// Index of the first element that was written, in a buffer that should not have been.
#[must_use]
pub fn first_written<E: Element>(values: &[E]) -> Option<usize> {
    values.iter().position(|value| !value.is_poison())
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    #[test]
    fn a_written_nan_is_not_poison() {
        let mut buffer = poisoned::<bf16>(4);
        assert_eq!(
            (first_unwritten(&buffer), first_written(&buffer)),
            (Some(0), None)
        );
        buffer[0] = bf16::NAN;
        assert_eq!(
            (first_unwritten(&buffer), first_written(&buffer)),
            (Some(1), Some(0))
        );
        buffer.fill(bf16::ZERO);
        assert_eq!(first_unwritten(&buffer), None);
    }
}
