//! The passes on Burn's CubeCL backend: the kernel where it was chosen, separate operations
//! elsewhere.

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use crate::{
    backend::{Call, FlashAttentionOps},
    composed::{self, Saved, Scores},
    strategy::Path,
};

impl FlashAttentionOps for CubeBackend {
    fn fa2_forward(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        call: Call,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match call.path {
            #[cfg(feature = "cuda")]
            Path::Kernel => crate::kernel::forward(q, k, v, call),
            #[cfg(not(feature = "cuda"))]
            Path::Kernel => unreachable!("`strategy::choose` has no kernel to choose"),
            Path::Composed => {
                composed::forward::<Self>(q, k, v, Scores::new(call.mask, call.scale))
            }
        }
    }

    // The gradient is composed on every path until there is a backward kernel.
    fn fa2_backward(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
        lse: FloatTensor<Self>,
        d_o: FloatTensor<Self>,
        delta: FloatTensor<Self>,
        call: Call,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        composed::backward::<Self>(Saved { q, k, v, lse }, d_o, delta, call)
    }
}
