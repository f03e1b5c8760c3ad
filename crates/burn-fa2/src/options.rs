//! What a caller may ask of [`flash_attention`](crate::flash_attention).

use serde::{Deserialize, Serialize};

/// Which corner of the score matrix the causal diagonal goes through when the lengths differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CausalAlignment {
    /// Query `i` sees the keys `0 ..= i + seq_k - seq_q`, so that the last query sees every key.
    /// With `seq_q > seq_k` the first rows see no key: their output is 0 and their LSE `-inf`.
    #[default]
    BottomRight,
    /// Query `i` sees the keys `0 ..= i`.
    TopLeft,
}

/// Which keys a query may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mask {
    /// All of them.
    #[default]
    None,
    /// Those up to the query's own position.
    Causal(CausalAlignment),
}

/// Which implementation computes the attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// The CubeCL kernel for Hopper where it serves and compiles, else the CubeCL
    /// kernel, else the CuTe kernel (feature `cute`), else the composed path. Whichever kernel that is, the
    /// gradient is computed by the CubeCL kernels for Hopper where they serve and compile, else by the CubeCL
    /// kernels. Both choices and their reasons go to the `log` crate at level `info`, once per reason and
    /// process.
    #[default]
    Auto,
    /// The CubeCL kernels, which run on compute capability 8.0 and up, or an error that says why they can't
    /// serve.
    CubeCl,
    /// The CubeCL kernels for Hopper GPUs (compute capability 9.0 and no other), or an error that says why that
    /// of the forward pass can't serve, or that one of them does not compile. Where a rule is against those of
    /// the gradient, a head size that they don't have, it is computed by those of [`CubeCl`](Self::CubeCl), and
    /// the log says why.
    Hopper,
    /// The CUDA C++ kernel written with CuTe, or an error that says why it can't serve. Needs the
    /// feature `cute`. The gradient is computed by the kernels of [`CubeCl`](Self::CubeCl).
    Cute,
    /// Separate Burn operations, which hold the whole score matrix in memory. Any device, any
    /// dtype.
    Composed,
}

/// Options of [`flash_attention`](crate::flash_attention).
///
/// ```
/// use burn_fa2::{CausalAlignment, FlashAttentionOptions, Mask, Strategy};
///
/// let options = FlashAttentionOptions::default()
///     .with_mask(Mask::Causal(CausalAlignment::TopLeft))
///     .with_scale(0.5)
///     .with_strategy(Strategy::Composed);
/// assert_eq!(options.scale, Some(0.5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FlashAttentionOptions {
    /// Which keys a query may see.
    pub mask: Mask,
    /// Factor of the scores; `1 / sqrt(head_dim)` if absent.
    pub scale: Option<f64>,
    /// Which implementation computes the attention.
    pub strategy: Strategy,
    /// Whether the gradient must have the same bits each time that the same operands are tracked. On a kernel's path
    /// that of the query is then summed up in a fixed order, which is slower: the kernels for Hopper wait for each
    /// other's additions; those for all GPUs, and both where it alone is tracked, have a pass of its own. Everything
    /// else has the same bits anyway.
    pub deterministic: bool,
}

impl FlashAttentionOptions {
    /// A causal mask, aligned at the bottom right.
    #[must_use]
    pub fn causal() -> Self {
        Self::default().with_mask(Mask::Causal(CausalAlignment::BottomRight))
    }

    /// With another mask.
    #[must_use]
    pub fn with_mask(self, mask: Mask) -> Self {
        Self { mask, ..self }
    }

    /// With a factor of the scores other than `1 / sqrt(head_dim)`.
    #[must_use]
    pub fn with_scale(self, scale: f64) -> Self {
        Self {
            scale: Some(scale),
            ..self
        }
    }

    /// With a gradient that has the same bits each time, or without.
    #[must_use]
    pub fn with_deterministic(self, deterministic: bool) -> Self {
        Self {
            deterministic,
            ..self
        }
    }

    /// With another choice of implementation.
    #[must_use]
    pub fn with_strategy(self, strategy: Strategy) -> Self {
        Self { strategy, ..self }
    }
}
