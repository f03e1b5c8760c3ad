//! Self-attention of one layer, and the one line in which burn-fa2 and Burn's own attention differ.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, Device, Tensor};

/// The signature that `burn_fa2::attention` and `burn::tensor::module::attention` share:
/// query, key, value, mask, bias, options.
type AttentionFn = fn(
    Tensor<4>,
    Tensor<4>,
    Tensor<4>,
    Option<Tensor<4, Bool>>,
    Option<Tensor<4>>,
    AttentionModuleOptions,
) -> Tensor<4>;

/// Which implementation computes softmax(Q K^T / sqrt(D)) V.
///
/// A model would name one of the two functions; this one is handed the choice with each call, so
/// that the same weights run through both and the example can check and time them against each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attention {
    /// burn-fa2.
    Flash,
    /// What Burn does by itself.
    Stock,
}

impl Attention {
    /// The swap, in whole: one path for the other.
    fn function(self) -> AttentionFn {
        match self {
            Self::Flash => burn_fa2::attention,
            Self::Stock => burn::tensor::module::attention,
        }
    }

    /// Attention over every head of `q`, `k`, `v`, each (B, H, S, D).
    ///
    /// No mask: a batch holds sentences of one length only (see `embed`), so no row has padding to
    /// hide.
    pub(crate) fn attend(self, q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Tensor<4> {
        self.function()(q, k, v, None, None, AttentionModuleOptions::default())
    }
}

/// Multi-head self-attention, without the residual and the norm that follow it.
#[derive(Module, Debug)]
pub(crate) struct SelfAttention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    heads: usize,
}

impl SelfAttention {
    /// Four `hidden` to `hidden` projections, split into `heads` heads.
    pub(crate) fn new(hidden: usize, heads: usize, device: &Device) -> Self {
        let projection = || LinearConfig::new(hidden, hidden).init(device);
        Self {
            query: projection(),
            key: projection(),
            value: projection(),
            output: projection(),
            heads,
        }
    }

    /// Maps (B, S, hidden) to (B, S, hidden).
    pub(crate) fn forward(&self, x: Tensor<3>, attention: Attention) -> Tensor<3> {
        let [batch, tokens, hidden] = x.dims();
        let [q, k, v] = self.project(x); // (B, H, S, D)
        let o = attention.attend(q, k, v); // (B, H, S, D)
        let o = o.swap_dims(1, 2).reshape([batch, tokens, hidden]); // (B, S, hidden)
        self.output.forward(o)
    }

    /// Q, K and V of (B, S, hidden), each (B, H, S, D).
    pub(crate) fn project(&self, x: Tensor<3>) -> [Tensor<4>; 3] {
        [&self.query, &self.key, &self.value]
            .map(|projection| self.split_heads(projection.forward(x.clone())))
    }

    /// Views (B, S, H * D) as (B, H, S, D). Only strides change: burn-fa2's kernel reads this view
    /// in place.
    fn split_heads(&self, x: Tensor<3>) -> Tensor<4> {
        let [batch, tokens, hidden] = x.dims();
        x.reshape([batch, tokens, self.heads, hidden / self.heads])
            .swap_dims(1, 2)
    }
}
