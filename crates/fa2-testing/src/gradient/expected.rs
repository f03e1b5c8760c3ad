//! What a backward pass should give, and the judgement of what an engine gave.
//!
//! The noise of the rule `|engine - f64| <= 2 |composed - f64| + noise` follows from the formats.
//! With e the epsilon of the element type and f that of f32, both for row i:
//!
//! ```text
//! d_i = f sqrt(D) max_j sum |dO V_j|  +  e |dO * O|       error of dP - delta
//! dQ:  e max |dQ| + f sqrt(Sk) max |dQ|  +  scale max |K| max_i d_i          since sum_j P = 1
//! dK:  e max |dK| + f sqrt(n) max |dK|   +  scale max |Q| max_j |P_ij d_i|
//! dV:  e max |dV| + f sqrt(n) max |dV|
//! ```
//!
//! The second term of d is the rounding of O, which the engine gets as the forward pass left it;
//! `|x|` of a vector is its Euclidean norm, for errors that are independent of each other, and n is the
//! number of query rows that a key row sums over.

use super::{Gradients, Operands, composed, gradients, softmax, walk};
use crate::{case::Case, element::Element, oracle, tolerance::Report};
use std::sync::Mutex;

/// The f64 reference of a case's gradients, and how wrong an engine may be.
#[derive(Clone, Debug)]
pub struct ExpectedGradients {
    /// In f64.
    pub reference: Gradients,
    /// In the element type.
    pub composed: Gradients,
    /// Noise of dQ, dK and dV.
    pub noise: [f64; 3],
}

impl ExpectedGradients {
    /// Of contiguous operands.
    ///
    /// # Panics
    ///
    /// If an operand's length is not that of its shape.
    #[must_use]
    pub fn new<E: Element>(case: &Case, operands: &Operands<E>) -> Self {
        let reference = gradients(case, operands);
        Self {
            noise: noise(case, operands, &reference),
            composed: composed::gradients(case, operands),
            reference,
        }
    }

    /// Judges dQ, dK and dV, given in contiguous order.
    pub fn reports<E: Element>(&self, d_q: &[E], d_k: &[E], d_v: &[E]) -> [Report; 3] {
        let Self {
            reference,
            composed,
            noise,
        } = self;
        [
            (d_q, &composed.d_q, &reference.d_q, noise[0]),
            (d_k, &composed.d_k, &reference.d_k, noise[1]),
            (d_v, &composed.d_v, &reference.d_v, noise[2]),
        ]
        .map(|(actual, composed, reference, noise)| {
            let actual: Vec<f64> = actual.iter().map(|value| value.to_f64()).collect();
            Report::new(&actual, composed, reference, noise)
        })
    }

    /// Judges all three.
    ///
    /// # Errors
    ///
    /// Which one is wrong, with its report.
    pub fn judge<E: Element>(&self, d_q: &[E], d_k: &[E], d_v: &[E]) -> Result<(), String> {
        let reports = self.reports(d_q, d_k, d_v);
        for (name, report) in ["dQ", "dK", "dV"].into_iter().zip(reports) {
            if !report.passed {
                return Err(format!("{name} {report}"));
            }
        }
        Ok(())
    }
}

/// The noise of dQ, dK and dV (module docs).
fn noise<E: Element>(case: &Case, operands: &Operands<E>, reference: &Gradients) -> [f64; 3] {
    let Operands { q, k, v, .. } = operands;
    let single = f64::from(f32::EPSILON);
    let output = oracle::attention(case, q, k, v).output;
    let dim = case.head_dim;
    let scale = case.scale_value();

    // The largest d, and the sum of (P d)^2 over the rows that see a key.
    let errors = Mutex::new((
        0.0_f64,
        vec![0.0_f64; case.batch * case.heads_kv * case.seq_k],
    ));
    walk(case, operands, |row| {
        let o = &output[row.index * dim..][..dim];
        let rounding = row.d_o.iter().zip(o).map(|(d, o)| (d.to_f64() * o).powi(2));
        let magnitude = row.values.chunks_exact(dim).map(|value| {
            let products = row.d_o.iter().zip(value);
            products
                .map(|(a, b)| (a.to_f64() * b.to_f64()).abs())
                .sum::<f64>()
        });
        let sums = single * (dim as f64).sqrt() * magnitude.fold(0.0, f64::max);
        let error = sums + E::EPSILON * rounding.sum::<f64>().sqrt();
        let p = softmax(row.dots(row.query, row.keys).map(|dot| scale * dot));
        let mut errors = errors.lock().expect("no panic while it is held");
        errors.0 = errors.0.max(error);
        for (sum, p) in errors.1[row.first_key..].iter_mut().zip(p) {
            *sum += (p * error).powi(2);
        }
        (Vec::new(), Vec::new())
    });
    let (row_error, squares) = errors.into_inner().expect("no panic while it was held");
    let column_error = largest(&squares).sqrt();

    let rows = case.seq_q * case.heads_q / case.heads_kv.max(1);
    let rounded = |values: &[f64], terms: usize| {
        (E::EPSILON + single * (terms as f64).sqrt()) * largest(values)
    };
    let magnitude = |values: &[E]| {
        let values: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
        largest(&values)
    };
    [
        rounded(&reference.d_q, case.seq_k) + scale * magnitude(k) * row_error,
        rounded(&reference.d_k, rows) + scale * magnitude(q) * column_error,
        rounded(&reference.d_v, rows),
    ]
}

/// Largest absolute value.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |max, value| max.max(value.abs()))
}
