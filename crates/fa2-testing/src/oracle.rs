//! Attention in f64, straight from its definition.
//!
//! ```text
//! S = scale Q K^T      P = softmax(S) over the visible keys      O = P V      LSE = ln sum exp S
//! ```
//!
//! A row that sees no key has O = 0 and LSE = -inf.

use rayon::prelude::*;

use crate::{case::Case, element::Element};

/// The two outputs of a forward pass, contiguous.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// O: `[batch, heads_q, seq_q, head_dim]`.
    pub output: Vec<f64>,
    /// The natural logarithm of the softmax denominator: `[batch, heads_q, seq_q]`.
    pub lse: Vec<f64>,
}

/// Attention of contiguous `[batch, heads, seq, head_dim]` operands.
///
/// # Panics
///
/// If an operand's length is not that of its shape.
#[must_use]
pub fn attention<E: Element>(case: &Case, q: &[E], k: &[E], v: &[E]) -> Forward {
    let (scale, dim) = (case.scale_value(), case.head_dim);
    for_each_row(case, q, k, v, |row| {
        let dot = |key: &[E]| {
            row.query
                .iter()
                .zip(key)
                .map(|(a, b)| a.to_f64() * b.to_f64())
                .sum::<f64>()
        };
        let scores: Vec<f64> = row
            .keys
            .chunks_exact(dim)
            .map(|key| scale * dot(key))
            .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
        let sum: f64 = weights.iter().sum();

        let mut output = vec![0.0; dim];
        for (weight, value) in weights.iter().zip(row.values.chunks_exact(dim)) {
            for (out, value) in output.iter_mut().zip(value) {
                *out += weight / sum * value.to_f64();
            }
        }
        (output, max + sum.ln())
    })
}

/// What one query row attends to: its visible keys and values.
pub(crate) struct Row<'a, E> {
    pub(crate) query: &'a [E],
    pub(crate) keys: &'a [E],
    pub(crate) values: &'a [E],
}

/// Runs `row` over every query that sees a key, in parallel; the others get O = 0 and LSE = -inf.
pub(crate) fn for_each_row<E: Element>(
    case: &Case,
    q: &[E],
    k: &[E],
    v: &[E],
    row: impl Fn(Row<'_, E>) -> (Vec<f64>, f64) + Sync,
) -> Forward {
    let Case {
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        head_dim,
        ..
    } = *case;
    assert_eq!(
        q.len(),
        case.shape_q().iter().product::<usize>(),
        "length of q for {case}"
    );
    assert_eq!(
        k.len(),
        case.shape_kv().iter().product::<usize>(),
        "length of k for {case}"
    );
    assert_eq!(
        v.len(),
        case.shape_kv().iter().product::<usize>(),
        "length of v for {case}"
    );
    let rows = case.batch * heads_q * seq_q;
    let mut forward = Forward {
        output: vec![0.0; rows * head_dim],
        lse: vec![f64::NEG_INFINITY; rows],
    };

    forward
        .output
        .par_chunks_exact_mut(head_dim.max(1))
        .zip(&mut forward.lse)
        .enumerate()
        .for_each(|(index, (output, lse))| {
            let (batch, head, position) = (
                index / seq_q / heads_q,
                index / seq_q % heads_q,
                index % seq_q,
            );
            let visible = case.visible_keys(position);
            if visible == 0 {
                return;
            }
            let first = (batch * heads_kv + head / (heads_q / heads_kv)) * seq_k * head_dim;
            let span = first..first + visible * head_dim;
            let (result, row_lse) = row(Row {
                query: &q[index * head_dim..][..head_dim],
                keys: &k[span.clone()],
                values: &v[span],
            });
            output.copy_from_slice(&result);
            *lse = row_lse;
        });
    forward
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Causal;

    /// Values without structure, in (-1, 1).
    fn noise(len: usize, phase: f64) -> Vec<f32> {
        (0..len)
            .map(|i| (i as f64 * 1.7 + phase).sin() as f32)
            .collect()
    }

    fn operands(case: &Case) -> [Vec<f32>; 3] {
        let kv = case.shape_kv().iter().product();
        [
            noise(case.shape_q().iter().product(), 0.1),
            noise(kv, 0.2),
            noise(kv, 0.3),
        ]
    }

    fn close(actual: &[f64], expected: &[f64]) {
        assert_eq!(actual.len(), expected.len());
        for (a, e) in actual.iter().zip(expected) {
            // 64 ulps of f64: the sums here have at most 64 terms.
            assert!(
                (a - e).abs() <= 64.0 * f64::EPSILON * e.abs().max(1.0),
                "{a} is not {e}"
            );
        }
    }

    #[test]
    fn two_keys_by_hand() {
        // S = (0, ln 3), so P = (1/4, 3/4), O = 1/4 * 8 + 3/4 * 4 = 5, LSE = ln 4. ln 3 is rounded
        // to f32.
        let case = Case::new("hand", 1, 1, 1, 1).keys(2).scaled(1.0);
        let forward = attention(&case, &[1.0_f32], &[0.0, 3.0_f32.ln()], &[8.0, 4.0]);
        let p = 1.0 / (1.0 + f64::from(3.0_f32.ln()).exp());
        close(&forward.output, &[8.0 * p + 4.0 * (1.0 - p)]);
        assert!((forward.output[0] - 5.0).abs() < f64::from(f32::EPSILON) * 5.0);
        assert!((forward.lse[0] - 4.0_f64.ln()).abs() < f64::from(f32::EPSILON) * 2.0);
    }

    #[test]
    fn ones_in_v_give_ones() {
        let case = Case::new("ones", 2, 4, 5, 8)
            .kv_heads(2)
            .keys(9)
            .causal(Causal::TopLeft);
        let [q, k, v] = operands(&case);
        let forward = attention(&case, &q, &k, &vec![1.0; v.len()]);
        close(&forward.output, &vec![1.0; forward.output.len()]);
    }

    #[test]
    fn a_constant_added_to_the_scores_moves_only_the_lse() {
        // The last column of Q is 1 and that of K is c: every score grows by scale * c.
        let case = Case::new("shift", 1, 2, 5, 8).keys(9).scaled(0.5);
        let [mut q, mut k, v] = operands(&case);
        q.chunks_exact_mut(8).for_each(|row| row[7] = 1.0);
        k.chunks_exact_mut(8).for_each(|row| row[7] = 0.0);
        let before = attention(&case, &q, &k, &v);
        k.chunks_exact_mut(8).for_each(|row| row[7] = 6.0);
        let after = attention(&case, &q, &k, &v);
        close(&after.output, &before.output);
        close(
            &after.lse,
            &before.lse.iter().map(|lse| lse + 3.0).collect::<Vec<_>>(),
        );
    }

    #[test]
    fn one_key_gives_its_value_and_its_score() {
        let case = Case::new("one-key", 1, 2, 1, 4).keys(1).scaled(2.0);
        let [q, k, v] = operands(&case);
        let forward = attention(&case, &q, &k, &v);
        close(
            &forward.output,
            &v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(),
        );
        let score = |head: usize| {
            2.0 * (0..4)
                .map(|i| f64::from(q[head * 4 + i]) * f64::from(k[head * 4 + i]))
                .sum::<f64>()
        };
        close(&forward.lse, &[score(0), score(1)]);
    }

    #[test]
    fn no_key_gives_zero_and_minus_infinity() {
        let case = Case::new("no-key", 1, 2, 3, 4).keys(0);
        let forward = attention::<f32>(&case, &noise(24, 0.0), &[], &[]);
        assert_eq!(
            forward,
            Forward {
                output: vec![0.0; 24],
                lse: vec![f64::NEG_INFINITY; 6]
            }
        );
    }

    #[test]
    fn a_blind_row_is_zero_and_the_others_are_not() {
        let case = Case::new("blind", 1, 1, 3, 2)
            .keys(1)
            .causal(Causal::BottomRight);
        let forward = attention(&case, &noise(6, 0.0), &[1.0, 2.0], &[3.0, 4.0]);
        close(&forward.output, &[0.0, 0.0, 0.0, 0.0, 3.0, 4.0]);
        assert_eq!(&forward.lse[..2], &[f64::NEG_INFINITY; 2]);
        assert!(forward.lse[2].is_finite());
    }

    #[test]
    fn grouped_heads_equal_repeated_keys_and_values() {
        let grouped = Case::new("gqa", 2, 4, 3, 4).kv_heads(2).keys(5);
        let [q, k, v] = operands(&grouped);
        let repeat = |kv: &[f32]| {
            kv.chunks_exact(20)
                .flat_map(|head| [head, head].concat())
                .collect::<Vec<_>>()
        };
        let repeated = attention(
            &Case {
                heads_kv: 4,
                ..grouped
            },
            &q,
            &repeat(&k),
            &repeat(&v),
        );
        assert_eq!(attention(&grouped, &q, &k, &v), repeated);
    }
}
