//! How large a model is, and what that makes in parameters and in work.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// Tokens are bytes.
pub(crate) const VOCABULARY: usize = 256;
/// The inner size of the feed-forward layer is rounded up to a multiple of this.
const HIDDEN_MULTIPLE: usize = 64;

/// What decides the shapes of a model's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sizes {
    pub(crate) layers: usize,
    /// Query heads.
    pub(crate) heads: usize,
    /// Key/value heads, each shared by `heads / kv_heads` query heads.
    pub(crate) kv_heads: usize,
    /// Columns of the residual stream.
    pub(crate) width: usize,
    /// Tokens of the longest sequence.
    pub(crate) context: usize,
}

impl Sizes {
    /// Refuses sizes that make no model.
    pub(crate) fn check(&self) -> Result<()> {
        let Self {
            layers,
            heads,
            kv_heads,
            width,
            context,
        } = *self;
        ensure!(layers > 0, "--layers 0: a model has at least one");
        ensure!(
            context > 0,
            "--context 0: a sequence has at least one token"
        );
        ensure!(
            heads > 0 && width > 0 && width.is_multiple_of(2 * heads),
            "--width {width} is not an even multiple of --heads {heads}: \
             a head has as many columns as every other, and rotates them in pairs"
        );
        ensure!(
            kv_heads > 0 && heads.is_multiple_of(kv_heads),
            "--heads {heads} is not a multiple of --kv-heads {kv_heads}"
        );
        Ok(())
    }

    /// Columns of a head.
    pub(crate) fn head_dim(&self) -> usize {
        self.width / self.heads
    }

    /// Columns of all keys, and of all values.
    pub(crate) fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim()
    }

    /// Inner columns of the feed-forward layer: 8/3 of the width, for its three matrices to hold as
    /// much as the two of a layer without a gate, which is four times as wide inside.
    pub(crate) fn hidden(&self) -> usize {
        (8 * self.width)
            .div_ceil(3)
            .next_multiple_of(HIDDEN_MULTIPLE)
    }

    /// Parameters of the model. The table of the tokens counts once: it is the output projection
    /// too.
    pub(crate) fn parameters(&self) -> usize {
        let w = self.width;
        let attention = 2 * w * w + 2 * w * self.kv_width();
        let feed_forward = 3 * w * self.hidden();
        let norms = 2 * w;
        VOCABULARY * w + self.layers * (attention + feed_forward + norms) + w
    }

    /// Floating-point operations that training on one token of a full context takes, after PaLM,
    /// appendix B (arXiv:2204.02311): `6 N + 12 L H Q T` for N parameters, L layers, H heads of Q
    /// columns and a length of T.
    ///
    /// The second term is attention without a mask. A causal one needs half of those products, and
    /// only what is needed counts here: `6 N + 6 L H Q T`.
    pub(crate) fn flops_per_token(&self) -> f64 {
        let products = 6 * self.parameters();
        let attention = 6 * self.layers * self.heads * self.head_dim() * self.context;
        (products + attention) as f64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A model that trains for a few steps within a second.
    pub(crate) const TOY: Sizes = Sizes {
        layers: 2,
        heads: 4,
        kv_heads: 2,
        width: 32,
        context: 16,
    };

    #[test]
    fn parameters_of_a_small_case_are_those_counted_by_hand() {
        // One layer of width 6, 3 heads of 2 columns, 1 key/value head; 8/3 * 6 = 16, rounded to 64.
        let sizes = Sizes {
            layers: 1,
            heads: 3,
            kv_heads: 1,
            width: 6,
            context: 8,
        };
        let attention = 6 * 6 + 6 * 2 + 6 * 2 + 6 * 6;
        let feed_forward = 6 * 64 + 6 * 64 + 64 * 6;
        let gains = 6 + 6 + 6;
        assert_eq!(
            sizes.parameters(),
            256 * 6 + attention + feed_forward + gains
        );
    }

    #[test]
    fn work_of_a_token_is_six_for_a_parameter_and_half_of_palms_attention() {
        let products = 6.0 * TOY.parameters() as f64;
        // PaLM: 12 * layers * heads * head_dim * length.
        let palm = 12.0 * 2.0 * 4.0 * 8.0 * 16.0;
        assert_eq!(TOY.flops_per_token(), products + palm / 2.0);
    }

    #[test]
    fn sizes_that_make_no_model_are_refused_by_name() {
        for (sizes, name) in [
            (Sizes { layers: 0, ..TOY }, "--layers"),
            (Sizes { context: 0, ..TOY }, "--context"),
            (Sizes { heads: 0, ..TOY }, "--heads"),
            (Sizes { width: 36, ..TOY }, "--width"),
            (Sizes { kv_heads: 3, ..TOY }, "--kv-heads"),
            (Sizes { kv_heads: 0, ..TOY }, "--kv-heads"),
        ] {
            let error = sizes.check().expect_err(name).to_string();
            assert!(error.contains(name), "{error}");
        }
        TOY.check()
            .expect("a model of these sizes is trained below");
    }
}
