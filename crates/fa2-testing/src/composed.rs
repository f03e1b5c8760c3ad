//! Attention in low precision, as a framework composes it from separate operations.
//!
//! Q K^T is rounded to the element type, so is its scaled form, so is the softmax (computed in
//! f32), so is P V (accumulated in f32). Its error against the oracle is the yardstick of
//! [`Report`](crate::Report): a fused kernel that keeps S and P in f32 has no excuse for being much
//! worse.

use crate::{
    case::Case,
    element::Element,
    oracle::{Forward, for_each_row},
};

/// Attention of contiguous `[batch, heads, seq, head_dim]` operands.
///
/// # Panics
///
/// If an operand's length is not that of its shape.
#[must_use]
pub fn attention<E: Element>(case: &Case, q: &[E], k: &[E], v: &[E]) -> Forward {
    let (scale, dim) = (case.scale_value() as f32, case.head_dim);
    let round = |value: f32| E::from_f32(value).to_f32();
    for_each_row(case, q, k, v, |row| {
        let dot = |key: &[E]| {
            row.query
                .iter()
                .zip(key)
                .map(|(a, b)| a.to_f32() * b.to_f32())
                .sum::<f32>()
        };
        let scores: Vec<f32> = row
            .keys
            .chunks_exact(dim)
            .map(|key| round(scale * round(dot(key))))
            .collect();
        let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weights: Vec<f32> = scores.iter().map(|score| (score - max).exp()).collect();
        let sum: f32 = weights.iter().sum();

        let mut output = vec![0.0_f32; dim];
        for (weight, value) in weights.iter().zip(row.values.chunks_exact(dim)) {
            let probability = round(weight / sum);
            for (out, value) in output.iter_mut().zip(value) {
                *out += probability * value.to_f32();
            }
        }
        let output = output
            .into_iter()
            .map(|value| f64::from(round(value)))
            .collect();
        (output, f64::from(max + sum.ln()))
    })
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::{inputs, oracle, tolerance::largest_error};

    fn error<E: Element>() -> f64 {
        let case = Case::new("composed", 1, 2, 33, 64);
        let [q, k, v] = inputs::generate::<E>(&case, 1).logical();
        let (composed, reference) = (
            attention(&case, &q, &k, &v),
            oracle::attention(&case, &q, &k, &v),
        );
        largest_error(&composed.output, &reference.output)
    }

    #[test]
    fn its_error_follows_the_element_type() {
        let (single, half, brain) = (error::<f32>(), error::<f16>(), error::<bf16>());
        // O is of order 1: a few roundings to the format, and the f32 noise of sums of 33 + 64
        // products.
        let sums = f64::from(f32::EPSILON) * (33.0_f64 + 64.0).sqrt();
        for (error, epsilon) in [
            (single, <f32 as Element>::EPSILON),
            (half, <f16 as Element>::EPSILON),
            (brain, <bf16 as Element>::EPSILON),
        ] {
            assert!(
                error > epsilon / 16.0 && error < 4.0 * epsilon + sums,
                "{error} for epsilon {epsilon}"
            );
        }
        assert!(single < half && half < brain);
    }
}
