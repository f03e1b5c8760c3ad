//! The attention problem: sizes, element type, mask and scale, and the rules they obey.

use crate::error::Fa2Error;
use serde::{Deserialize, Serialize};

/// Element type of Q, K, V and O. Sums are in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl Dtype {
    /// Bytes of an element.
    pub const BYTES: u32 = 2;
}

/// Which corner of the score matrix the causal diagonal goes through when `seq_q != seq_k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    /// Query i sees keys up to `i + seq_k - seq_q`: the last query sees all.
    #[default]
    BottomRight,
    /// Query i sees keys up to `i`.
    TopLeft,
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// All of them.
    #[default]
    None,
    /// Those up to its own position.
    Causal(Alignment),
}

/// One forward pass: `O = softmax(scale Q K^T + mask) V` for every batch entry and query head.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// Batch entries.
    pub batch: usize,
    /// Heads of Q and O.
    pub heads_q: usize,
    /// Heads of K and V; a divisor of `heads_q` (GQA, MQA).
    pub heads_kv: usize,
    /// Rows of Q and O.
    pub seq_q: usize,
    /// Rows of K and V. With 0 every output row is empty: O = 0, LSE = -inf.
    pub seq_k: usize,
    /// Columns of Q, K, V and O: a multiple of 8, at most 256.
    pub head_dim: usize,
    /// Element type.
    pub dtype: Dtype,
    /// Which keys a query sees.
    pub mask: Mask,
    /// Factor on the scores, above 0; `1 / sqrt(head_dim)` is usual.
    pub scale: f32,
}

/// Elements of a 16-byte copy.
pub(crate) const CHUNK_ELEMENTS: usize = 8;
/// Columns of the largest compiled kernel.
const MAX_HEAD_DIM: usize = 256;

impl Problem {
    /// Checks every rule that does not depend on a device.
    ///
    /// # Errors
    /// The first rule that is broken, with its value.
    pub fn validate(&self) -> Result<(), Fa2Error> {
        let sizes = [
            ("batch", self.batch),
            ("heads_q", self.heads_q),
            ("heads_kv", self.heads_kv),
            ("seq_q", self.seq_q),
        ];
        if let Some(&(name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(Fa2Error::Empty { name });
        }
        if !self.heads_q.is_multiple_of(self.heads_kv) {
            return Err(Fa2Error::Heads {
                heads_q: self.heads_q,
                heads_kv: self.heads_kv,
            });
        }
        if self.head_dim == 0
            || self.head_dim > MAX_HEAD_DIM
            || !self.head_dim.is_multiple_of(CHUNK_ELEMENTS)
        {
            return Err(Fa2Error::HeadDim(self.head_dim));
        }
        // Half of i32, so that a row plus the causal offset, and a block's end, can't overflow.
        let limit = i32::MAX as usize / 2;
        for (name, value) in [("seq_q", self.seq_q), ("seq_k", self.seq_k)] {
            if value > limit {
                return Err(Fa2Error::TooLarge { name, value, limit });
            }
        }
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(Fa2Error::Scale(self.scale));
        }
        Ok(())
    }

    /// Query heads that share a key/value head.
    #[must_use]
    pub fn group_size(&self) -> usize {
        self.heads_q / self.heads_kv
    }

    /// Query `i` sees keys up to `i + diagonal()`, where the mask is causal.
    #[must_use]
    pub fn diagonal(&self) -> i32 {
        match self.mask {
            Mask::Causal(Alignment::BottomRight) => self.seq_k as i32 - self.seq_q as i32,
            Mask::Causal(Alignment::TopLeft) | Mask::None => 0,
        }
    }

    /// Floating-point operations by the usual count: `4 B H Sq Sk D`, half of it where causal.
    #[must_use]
    pub fn flops(&self) -> f64 {
        let full = 4.0
            * (self.batch * self.heads_q) as f64
            * (self.seq_q as f64 * self.seq_k as f64)
            * self.head_dim as f64;
        match self.mask {
            Mask::None => full,
            Mask::Causal(_) => full / 2.0,
        }
    }
}

#[cfg(test)]
mod tests;
