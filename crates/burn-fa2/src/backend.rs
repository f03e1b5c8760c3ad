//! The extension of Burn's backends by the two passes, and the backends that compose them.

#![allow(
    clippy::too_many_arguments,
    reason = "Burn's extension macro takes each tensor as an argument"
)]

use burn::backend::{Backend, backend_extension, tensor::FloatTensor};

use crate::{options::Mask, strategy::Path};

/// What is not a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) mask: Mask,
    pub(crate) scale: f64,
    pub(crate) path: Path,
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "the composed path has the same bits anyway")
    )]
    pub(crate) deterministic: bool,
}

/// What is not a tensor, in the backward pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackwardCall {
    pub(crate) forward: Call,
    /// Whether dQ, dK and dV are asked for. One that is not may be anything of its shape.
    pub(crate) wanted: [bool; 3],
}

/// The passes, on operands that have been validated.
#[backend_extension(
    Cube: cfg(feature = "cubecl"),
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    LibTorch: cfg(feature = "tch"),
    Fusion: cfg(feature = "fusion"),
    Autodiff
)]
pub(crate) trait FlashAttentionOps: Backend {
    /// O and LSE of Q, K and V.
    #[fusion(meta = metadata::forward)]
    fn fa2_forward(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        call: Call,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// dQ, dK and dV of what `fa2_forward` gave, for the gradients of both outputs.
    #[fusion(meta = metadata::backward)]
    fn fa2_backward(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        o: FloatTensor<Self>,
        lse: FloatTensor<Self>,
        d_o: FloatTensor<Self>,
        d_lse: FloatTensor<Self>,
        call: BackwardCall,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

/// Shapes and dtypes of the outputs, which Burn's fusion needs before it runs anything.
#[cfg(feature = "fusion")]
mod metadata {
    use burn::{backend::fusion::custom::TensorSpec, tensor::Shape};

    use super::{BackwardCall, Call};
    use crate::{composed, validate::Sizes};

    pub(super) fn forward(
        q: &TensorSpec,
        k: &TensorSpec,
        v: &TensorSpec,
        _: &Call,
    ) -> (TensorSpec, TensorSpec) {
        let sizes = Sizes::new(q.shape.dims(), k.shape.dims(), v.shape.dims());
        let lse_dtype = composed::softmax_dtype(q.dtype).into();
        (
            TensorSpec::new(Shape::new(sizes.output()), q.dtype),
            TensorSpec::new(Shape::new(sizes.lse()), lse_dtype),
        )
    }

    pub(super) fn backward(
        q: &TensorSpec,
        k: &TensorSpec,
        v: &TensorSpec,
        _o: &TensorSpec,
        _lse: &TensorSpec,
        _d_o: &TensorSpec,
        _d_lse: &TensorSpec,
        _: &BackwardCall,
    ) -> (TensorSpec, TensorSpec, TensorSpec) {
        (q.clone(), k.clone(), v.clone())
    }
}

/// For the backends that have no kernel.
#[cfg(any(feature = "flex", feature = "ndarray", feature = "tch"))]
macro_rules! impl_composed {
    ($backend:ty) => {
        impl FlashAttentionOps for $backend {
            fn fa2_forward(
                q: FloatTensor<Self>,
                k: FloatTensor<Self>,
                v: FloatTensor<Self>,
                call: Call,
            ) -> (FloatTensor<Self>, FloatTensor<Self>) {
                assert_eq!(
                    call.path,
                    crate::strategy::Path::Composed,
                    "no kernel was chosen"
                );
                let scores = crate::composed::Scores::new(call.mask, call.scale);
                crate::composed::forward::<Self>(q, k, v, scores)
            }

            fn fa2_backward(
                q: FloatTensor<Self>,
                k: FloatTensor<Self>,
                v: FloatTensor<Self>,
                o: FloatTensor<Self>,
                lse: FloatTensor<Self>,
                d_o: FloatTensor<Self>,
                d_lse: FloatTensor<Self>,
                call: BackwardCall,
            ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
                let saved = crate::composed::Saved { q, k, v, o, lse };
                crate::composed::backward::<Self>(saved, d_o, d_lse, call)
            }
        }
    };
}

#[cfg(feature = "flex")]
impl_composed!(burn::backend::Flex);
#[cfg(feature = "ndarray")]
impl_composed!(burn::backend::NdArray);
#[cfg(feature = "tch")]
impl_composed!(burn::backend::LibTorch);
