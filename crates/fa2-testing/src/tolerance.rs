//! How wrong an engine may be: derived from the composed computation, never written by hand.
//!
//! ```text
//! max |engine - f64|  <=  2 max |composed - f64|  +  noise
//! ```
//!
//! The noise keeps the rule fair where the composed error happens to be tiny (one key, few
//! elements):
//!
//! * O is rounded once to the element type: `EPSILON * max |O|`.
//! * Sums of n products in f32, in an order that is the engine's own: a random walk of n roundings,
//!   `sqrt(n) * f32::EPSILON` relative. For O, n is `seq_k + head_dim`; for LSE, `head_dim`.

use std::fmt;

use crate::{case::Case, element::Element, oracle::Forward};

/// The outcome of one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Report {
    /// Largest error of the engine; NaN if it gave a NaN, infinite if it differs in an infinity.
    pub max_error: f64,
    /// Largest error of the composed computation.
    pub composed_error: f64,
    /// What `max_error` may be.
    pub bound: f64,
    /// Index of the largest error.
    pub worst: usize,
    /// Whether `max_error <= bound`; a NaN on either side fails.
    pub passed: bool,
}

impl Report {
    /// Judges O, given in contiguous order.
    pub fn output<E: Element>(
        case: &Case,
        actual: &[E],
        composed: &Forward,
        reference: &Forward,
    ) -> Self {
        let actual: Vec<f64> = actual.iter().map(|value| value.to_f64()).collect();
        let noise = E::EPSILON + sum_noise(case.seq_k + case.head_dim);
        Self::new(
            &actual,
            &composed.output,
            &reference.output,
            noise * magnitude(&reference.output),
        )
    }

    /// Judges LSE, given in contiguous order.
    pub fn lse(case: &Case, actual: &[f32], composed: &Forward, reference: &Forward) -> Self {
        let actual: Vec<f64> = actual.iter().map(|value| f64::from(*value)).collect();
        // A relative error of the sum is an absolute error of its logarithm: hence at least 1.
        let noise = sum_noise(case.head_dim) * magnitude(&reference.lse).max(1.0);
        Self::new(&actual, &composed.lse, &reference.lse, noise)
    }

    /// Judges any values, with a noise of the caller's derivation.
    pub fn new(actual: &[f64], composed: &[f64], reference: &[f64], noise: f64) -> Self {
        let (worst, max_error) = worst_error(actual, reference);
        let composed_error = largest_error(composed, reference);
        let bound = 2.0 * composed_error + noise;
        // A NaN compares false, and an infinite bound would pass everything.
        let passed = max_error <= bound && bound.is_finite();
        Self {
            max_error,
            composed_error,
            bound,
            worst,
            passed,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            max_error,
            composed_error,
            bound,
            worst,
            passed,
        } = self;
        let verdict = if *passed { "passed" } else { "FAILED" };
        write!(
            f,
            "{verdict}: error {max_error:.3e} at {worst}, bound {bound:.3e}, \
             composed {composed_error:.3e}"
        )
    }
}

/// Largest `|actual - reference|`: NaN if there is a NaN, infinite if an infinity differs or a
/// length does.
#[must_use]
pub fn largest_error(actual: &[f64], reference: &[f64]) -> f64 {
    worst_error(actual, reference).1
}

fn worst_error(actual: &[f64], reference: &[f64]) -> (usize, f64) {
    if actual.len() != reference.len() {
        return (actual.len().min(reference.len()), f64::INFINITY);
    }
    let errors = actual
        .iter()
        .zip(reference)
        .map(|(a, r)| if a == r { 0.0 } else { (a - r).abs() });
    errors
        .enumerate()
        .fold((0, 0.0), |worst: (usize, f64), (index, error)| {
            // `>` alone would skip a NaN.
            if worst.1.is_nan() || error <= worst.1 {
                worst
            } else {
                (index, error)
            }
        })
}

/// Relative noise of a sum of `terms` products in f32.
fn sum_noise(terms: usize) -> f64 {
    f64::from(f32::EPSILON) * (terms as f64).sqrt()
}

/// Largest finite absolute value; the infinities of LSE must match exactly and have no noise.
fn magnitude(values: &[f64]) -> f64 {
    values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .fold(0.0, |max, value| max.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_composed_error_passes_and_more_fails() {
        let at = |error: f64| Report::new(&[1.0 + error], &[1.25], &[1.0], 0.0);
        assert!(at(0.5).passed);
        assert!(!at(0.5625).passed);
    }

    #[test]
    fn a_nan_fails_on_either_side() {
        assert!(!Report::new(&[0.0, f64::NAN, 0.0], &[9.0; 3], &[0.0; 3], 1.0).passed);
        assert!(!Report::new(&[0.0; 3], &[0.0, f64::NAN, 0.0], &[0.0; 3], 1.0).passed);
        assert!(!Report::new(&[0.0; 3], &[0.0; 3], &[0.0, f64::NAN, 0.0], 1.0).passed);
    }

    #[test]
    fn infinities_must_match() {
        let inf = f64::NEG_INFINITY;
        assert!(Report::new(&[inf, 1.0], &[inf, 1.0], &[inf, 1.0], 0.0).passed);
        assert!(!Report::new(&[0.0, 1.0], &[inf, 1.0], &[inf, 1.0], 1e9).passed);
        assert!(!Report::new(&[inf, 1.0], &[0.0, 1.0], &[0.0, 1.0], 1e9).passed);
        // A composed computation that is infinitely wrong must not excuse anything.
        assert!(!Report::new(&[0.0], &[inf], &[0.0], 0.0).passed);
    }

    #[test]
    fn a_missing_element_fails() {
        assert!(!Report::new(&[1.0], &[1.0, 1.0], &[1.0, 1.0], 1e9).passed);
    }

    #[test]
    fn nothing_is_right() {
        assert!(Report::new(&[], &[], &[], 0.0).passed);
    }
}
