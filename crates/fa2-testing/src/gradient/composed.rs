//! The gradients in low precision, as a framework's autodiff composes them from separate operations.
//!
//! Every tensor that such a graph holds is rounded to the element type: S and its scaled form, P, dP,
//! dS and its scaled form, and the three gradients. Sums inside a product are exact here, which only
//! makes the yardstick of [`Report`](crate::Report) shorter.

use super::{Gradients, Operands, softmax, walk};
use crate::{case::Case, element::Element};

/// The gradients of `case`.
///
/// # Panics
///
/// If an operand's length is not that of its shape.
#[must_use]
pub fn gradients<E: Element>(case: &Case, operands: &Operands<E>) -> Gradients {
    let scale = case.scale_value();
    let round = |value: f64| E::from_f64(value).to_f64();
    let mut gradients = walk(case, operands, |row| {
        let scores = row.dots(row.query, row.keys);
        let mut p = softmax(scores.map(|dot| round(scale * round(dot))));
        p.iter_mut().for_each(|p| *p = round(*p));
        let d_p: Vec<f64> = row.dots(row.d_o, row.values).map(round).collect();
        let mean: f64 = p.iter().zip(&d_p).map(|(p, d_p)| p * d_p).sum();
        let d_s = p
            .iter()
            .zip(&d_p)
            .map(|(p, d_p)| round(scale * round(p * (d_p - mean + row.d_lse))))
            .collect();
        (p, d_s)
    });
    for values in [&mut gradients.d_q, &mut gradients.d_k, &mut gradients.d_v] {
        values.iter_mut().for_each(|value| *value = round(*value));
    }
    gradients
}
