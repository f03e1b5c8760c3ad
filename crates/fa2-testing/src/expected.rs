//! What a case should give, and the judgement of what an engine gave.

use crate::{
    case::Case, composed, element::Element, inputs::Qkv, oracle, oracle::Forward, tolerance::Report,
};

/// The f64 reference of a case, and the composed computation that says how wrong an engine may be.
#[derive(Clone, Debug)]
pub struct Expected {
    case: Case,
    /// In f64.
    pub reference: Forward,
    /// In the element type.
    pub composed: Forward,
}

impl Expected {
    /// Of contiguous `[batch, heads, seq, head_dim]` operands.
    ///
    /// # Panics
    ///
    /// If an operand's length is not that of its shape.
    #[must_use]
    pub fn new<E: Element>(case: &Case, q: &[E], k: &[E], v: &[E]) -> Self {
        Self {
            case: *case,
            reference: oracle::attention(case, q, k, v),
            composed: composed::attention(case, q, k, v),
        }
    }

    /// Of operands in any storage.
    #[must_use]
    pub fn of<E: Element>(case: &Case, qkv: &Qkv<E>) -> Self {
        let [q, k, v] = qkv.logical();
        Self::new(case, &q, &k, &v)
    }

    /// Judges O, given in contiguous order.
    pub fn output<E: Element>(&self, actual: &[E]) -> Report {
        Report::output(&self.case, actual, &self.composed, &self.reference)
    }

    /// Judges LSE, given in contiguous order.
    pub fn lse(&self, actual: &[f32]) -> Report {
        Report::lse(&self.case, actual, &self.composed, &self.reference)
    }

    /// Judges both.
    ///
    /// # Errors
    ///
    /// Which one is wrong, with its report.
    pub fn judge<E: Element>(&self, output: &[E], lse: &[f32]) -> Result<(), String> {
        let (output, lse) = (self.output(output), self.lse(lse));
        match (output.passed, lse.passed) {
            (true, true) => Ok(()),
            (false, _) => Err(format!("O {output}")),
            (true, false) => Err(format!("LSE {lse}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::inputs;

    #[test]
    fn either_output_that_is_wrong_is_named() {
        let case = Case::new("judge", 1, 1, 5, 8);
        let expected = Expected::of(&case, &inputs::generate::<f16>(&case, 3));
        let right: Vec<f16> = expected
            .reference
            .output
            .iter()
            .map(|o| f16::from_f64(*o))
            .collect();
        let lse: Vec<f32> = expected
            .reference
            .lse
            .iter()
            .map(|lse| *lse as f32)
            .collect();
        assert!(expected.judge(&right, &lse).is_ok());
        let mut wrong = right.clone();
        wrong[7] = f16::NAN;
        assert!(
            expected
                .judge(&wrong, &lse)
                .is_err_and(|error| error.starts_with("O "))
        );
        let off: Vec<f32> = lse.iter().map(|lse| lse + 1.0).collect();
        assert!(
            expected
                .judge(&right, &off)
                .is_err_and(|error| error.starts_with("LSE "))
        );
    }
}
