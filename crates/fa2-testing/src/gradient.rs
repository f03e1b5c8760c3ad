//! The gradients of attention in f64, straight from their definition.
//!
//! For `L = sum dO * O + sum dLSE * LSE`, with P and S as in [`oracle`](crate::oracle):
//!
//! ```text
//! dV = P^T dO      dP = dO V^T      dS = P * (dP - rowsum(P * dP) + dLSE)
//! dQ = scale dS K          dK = scale dS^T Q
//! ```
//!
//! dK and dV are sums over the query heads that share a key head. A row that sees no key gives
//! nothing and gets 0.

pub mod composed;
mod expected;

pub use expected::ExpectedGradients;

use rayon::prelude::*;

use crate::{case::Case, element::Element, inputs::Qkv};

/// What a backward pass gets: contiguous `[batch, heads, seq, head_dim]`.
#[derive(Clone, Debug)]
pub struct Operands<E> {
    /// Queries.
    pub q: Vec<E>,
    /// Keys.
    pub k: Vec<E>,
    /// Values.
    pub v: Vec<E>,
    /// Gradient of O.
    pub d_o: Vec<E>,
    /// Gradient of LSE, `[batch, heads_q, seq_q]`; zeros if absent.
    pub d_lse: Option<Vec<f32>>,
}

/// The three gradients, contiguous.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients {
    /// `[batch, heads_q, seq_q, head_dim]`.
    pub d_q: Vec<f64>,
    /// `[batch, heads_kv, seq_k, head_dim]`.
    pub d_k: Vec<f64>,
    /// Like dK.
    pub d_v: Vec<f64>,
}

impl<E: Element> Operands<E> {
    /// Of a case's Q, K and V.
    #[must_use]
    pub fn new(qkv: &Qkv<E>, d_o: Vec<E>, d_lse: Option<Vec<f32>>) -> Self {
        let [q, k, v] = qkv.logical();
        Self {
            q,
            k,
            v,
            d_o,
            d_lse,
        }
    }
}

/// The gradients of `case`.
///
/// # Panics
///
/// If an operand's length is not that of its shape.
#[must_use]
pub fn gradients<E: Element>(case: &Case, operands: &Operands<E>) -> Gradients {
    let scale = case.scale_value();
    walk(case, operands, |row| {
        let p = softmax(row.dots(row.query, row.keys).map(|dot| scale * dot));
        let d_p: Vec<f64> = row.dots(row.d_o, row.values).collect();
        let mean: f64 = p.iter().zip(&d_p).map(|(p, d_p)| p * d_p).sum();
        let d_s = p
            .iter()
            .zip(&d_p)
            .map(|(p, d_p)| scale * p * (d_p - mean + row.d_lse))
            .collect();
        (p, d_s)
    })
}

/// The softmax of a row of scores.
pub(crate) fn softmax(scores: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut weights: Vec<f64> = scores.collect();
    let max = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().for_each(|x| *x = (*x - max).exp());
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|x| *x /= sum);
    weights
}

/// A query row with the keys that it sees.
pub(crate) struct Row<'a, E> {
    /// Among all rows of Q.
    pub(crate) index: usize,
    /// Of its first key among all rows of K.
    pub(crate) first_key: usize,
    pub(crate) query: &'a [E],
    pub(crate) keys: &'a [E],
    pub(crate) values: &'a [E],
    pub(crate) d_o: &'a [E],
    pub(crate) d_lse: f64,
}

impl<E: Element> Row<'_, E> {
    /// The products of `vector` with each row of `matrix`, in f64.
    pub(crate) fn dots<'a>(
        &self,
        vector: &'a [E],
        matrix: &'a [E],
    ) -> impl Iterator<Item = f64> + use<'a, E> {
        matrix.chunks_exact(vector.len()).map(move |other| {
            let products = vector.iter().zip(other);
            products.map(|(a, b)| a.to_f64() * b.to_f64()).sum()
        })
    }
}

/// Sums up the gradients of all rows in f64; `row` gives P and `scale dS` of its visible keys.
pub(crate) fn walk<E: Element>(
    case: &Case,
    operands: &Operands<E>,
    row: impl Fn(Row<'_, E>) -> (Vec<f64>, Vec<f64>) + Sync,
) -> Gradients {
    let Case {
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        head_dim: dim,
        ..
    } = *case;
    let (q_size, kv_size) = (
        case.shape_q().iter().product::<usize>(),
        case.shape_kv().iter().product::<usize>(),
    );
    for (name, length, size) in [
        ("q", operands.q.len(), q_size),
        ("dO", operands.d_o.len(), q_size),
        ("k", operands.k.len(), kv_size),
        ("v", operands.v.len(), kv_size),
    ] {
        assert_eq!(length, size, "length of {name} for {case}");
    }
    let mut gradients = Gradients {
        d_q: vec![0.0; q_size],
        d_k: vec![0.0; kv_size],
        d_v: vec![0.0; kv_size],
    };
    if q_size == 0 || kv_size == 0 {
        return gradients;
    }
    let group = heads_q / heads_kv;
    gradients
        .d_q
        .par_chunks_exact_mut(group * seq_q * dim)
        .zip(gradients.d_k.par_chunks_exact_mut(seq_k * dim))
        .zip(gradients.d_v.par_chunks_exact_mut(seq_k * dim))
        .enumerate()
        .for_each(|(head_kv, ((d_q, d_k), d_v))| {
            for (in_group, d_q) in d_q.chunks_exact_mut(dim).enumerate() {
                let visible = case.visible_keys(in_group % seq_q);
                if visible == 0 {
                    continue;
                }
                let index = head_kv * group * seq_q + in_group;
                let first = head_kv * seq_k * dim;
                let span = first..first + visible * dim;
                let query = &operands.q[index * dim..][..dim];
                let d_o = &operands.d_o[index * dim..][..dim];
                let d_lse = operands.d_lse.as_ref();
                let (p, d_s) = row(Row {
                    index,
                    first_key: head_kv * seq_k,
                    query,
                    keys: &operands.k[span.clone()],
                    values: &operands.v[span],
                    d_o,
                    d_lse: d_lse.map_or(0.0, |d_lse| f64::from(d_lse[index])),
                });
                for (key, (p, d_s)) in p.into_iter().zip(d_s).enumerate() {
                    let key_row = &operands.k[first + key * dim..][..dim];
                    for c in 0..dim {
                        d_q[c] += d_s * key_row[c].to_f64();
                        d_k[key * dim + c] += d_s * query[c].to_f64();
                        d_v[key * dim + c] += p * d_o[c].to_f64();
                    }
                }
            }
        });
    gradients
}

#[cfg(test)]
mod tests;
