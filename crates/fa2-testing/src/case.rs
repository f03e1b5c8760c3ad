//! One attention problem: its shape, mask, scale, and the kind and storage of its inputs.

use std::fmt;

/// Which keys a query may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Causal {
    /// Every key.
    None,
    /// Query `i` sees the keys `0 ..= i + seq_k - seq_q`: the last query sees every key.
    BottomRight,
    /// Query `i` sees the keys `0 ..= i`.
    TopLeft,
}

/// How the values of Q, K and V are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inputs {
    /// Every key is the same vector: the softmax is uniform, and O is the mean of the visible rows
    /// of V.
    Uniform,
    /// Standard normal Q, K and V.
    Normal,
    /// Q and K three times as large, so that most rows of the softmax are close to one-hot.
    Concentrated,
    /// Q and K thirty times as large: scores in the thousands, where `exp2(x * c - m * c)` must not
    /// exceed 1.
    Huge,
    /// `q[0] = 1` and `k[0] = -120 / scale`: every score is near -120, so that `exp` of it
    /// underflows unless the true maximum is subtracted, and a maximum that is raised to 0 loses
    /// the whole row.
    VeryNegative,
}

/// How `[batch, heads, seq, head_dim]` lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Contiguous.
    Bhsd,
    /// Contiguous `[batch, seq, heads, head_dim]`, viewed with its axes swapped.
    Bshd,
    /// The row stride is larger than `head_dim`; what lies between the rows is NaN.
    PaddedRows,
}

/// One attention problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// Unique within its table.
    pub name: &'static str,
    /// Batch size.
    pub batch: usize,
    /// Heads of Q and O.
    pub heads_q: usize,
    /// Heads of K and V; divides `heads_q`.
    pub heads_kv: usize,
    /// Rows of Q.
    pub seq_q: usize,
    /// Rows of K and V.
    pub seq_k: usize,
    /// Columns of Q, K and V.
    pub head_dim: usize,
    /// Which keys a query may see.
    pub causal: Causal,
    /// Factor of the scores; `1 / sqrt(head_dim)` if absent.
    pub scale: Option<f64>,
    /// How the values are drawn.
    pub inputs: Inputs,
    /// How they lie in memory.
    pub storage: Storage,
    /// How this case differs from the report that it replays.
    pub note: Option<&'static str>,
}

impl Case {
    /// Self-attention without a mask, on contiguous normal inputs.
    #[must_use]
    pub const fn new(
        name: &'static str,
        batch: usize,
        heads: usize,
        seq: usize,
        head_dim: usize,
    ) -> Self {
        Self {
            name,
            batch,
            heads_q: heads,
            heads_kv: heads,
            seq_q: seq,
            seq_k: seq,
            head_dim,
            causal: Causal::None,
            scale: None,
            inputs: Inputs::Normal,
            storage: Storage::Bhsd,
            note: None,
        }
    }

    /// With `seq_k` keys.
    #[must_use]
    pub const fn keys(self, seq_k: usize) -> Self {
        Self { seq_k, ..self }
    }

    /// With `heads_kv` heads of K and V.
    #[must_use]
    pub const fn kv_heads(self, heads_kv: usize) -> Self {
        Self { heads_kv, ..self }
    }

    /// With a causal mask.
    #[must_use]
    pub const fn causal(self, causal: Causal) -> Self {
        Self { causal, ..self }
    }

    /// With a factor of its own.
    #[must_use]
    pub const fn scaled(self, scale: f64) -> Self {
        Self {
            scale: Some(scale),
            ..self
        }
    }

    /// With other values.
    #[must_use]
    pub const fn inputs(self, inputs: Inputs) -> Self {
        Self { inputs, ..self }
    }

    /// With another storage.
    #[must_use]
    pub const fn stored(self, storage: Storage) -> Self {
        Self { storage, ..self }
    }

    /// With a remark on how it differs from the report that it replays.
    #[must_use]
    pub const fn note(self, note: &'static str) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }

    /// The factor of the scores.
    #[must_use]
    pub fn scale_value(&self) -> f64 {
        self.scale
            .unwrap_or_else(|| 1.0 / (self.head_dim as f64).sqrt())
    }

    /// How many keys, counted from the first, the query at `row` sees.
    #[must_use]
    pub fn visible_keys(&self, row: usize) -> usize {
        match self.causal {
            Causal::None => self.seq_k,
            Causal::TopLeft => (row + 1).min(self.seq_k),
            // The boundary row + seq_k - seq_q is negative for the first rows when seq_q > seq_k.
            Causal::BottomRight => (row + 1 + self.seq_k)
                .saturating_sub(self.seq_q)
                .min(self.seq_k),
        }
    }

    /// Shape of Q and O.
    #[must_use]
    pub const fn shape_q(&self) -> [usize; 4] {
        [self.batch, self.heads_q, self.seq_q, self.head_dim]
    }

    /// Shape of K and V.
    #[must_use]
    pub const fn shape_kv(&self) -> [usize; 4] {
        [self.batch, self.heads_kv, self.seq_k, self.head_dim]
    }

    /// Products of the two matrix multiplications, masked or not: what the oracle has to do.
    #[must_use]
    pub const fn products(&self) -> usize {
        2 * self.batch * self.heads_q * self.seq_q * self.seq_k * self.head_dim
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: B{} H{}:{} S{}x{} D{} {:?} {:?} {:?}",
            self.name,
            self.batch,
            self.heads_q,
            self.heads_kv,
            self.seq_q,
            self.seq_k,
            self.head_dim,
            self.causal,
            self.inputs,
            self.storage,
        )?;
        match self.scale {
            Some(scale) => write!(f, " scale {scale}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bottom_right_shows_all_keys_to_the_last_query() {
        let case = Case::new("", 1, 1, 3, 8)
            .keys(5)
            .causal(Causal::BottomRight);
        assert_eq!([0, 1, 2].map(|row| case.visible_keys(row)), [3, 4, 5]);
    }

    #[test]
    fn bottom_right_with_more_queries_than_keys_has_blind_rows() {
        let case = Case::new("", 1, 1, 5, 8)
            .keys(2)
            .causal(Causal::BottomRight);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|row| case.visible_keys(row)),
            [0, 0, 0, 1, 2]
        );
    }

    #[test]
    fn top_left_shows_one_key_to_the_first_query() {
        let case = Case::new("", 1, 1, 4, 8).keys(2).causal(Causal::TopLeft);
        assert_eq!([0, 1, 2, 3].map(|row| case.visible_keys(row)), [1, 2, 2, 2]);
    }
}
