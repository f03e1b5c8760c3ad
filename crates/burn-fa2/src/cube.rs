//! The passes on Burn's CubeCL backend: a kernel where one was chosen, separate operations
//! elsewhere.

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use crate::{
    backend::{BackwardCall, Call, FlashAttentionOps},
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
            Path::Kernels(kernel, _) => crate::kernel::forward(q, k, v, call, kernel),
            #[cfg(not(feature = "cuda"))]
            Path::Kernels(..) => unreachable!("`strategy::choose` has no kernel to choose"),
            Path::Composed => {
                composed::forward::<Self>(q, k, v, Scores::new(call.mask, call.scale))
            }
        }
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
        let saved = Saved { q, k, v, o, lse };
        match call.forward.path {
            #[cfg(feature = "cuda")]
            Path::Kernels(_, kernels) => crate::kernel::backward(saved, d_o, d_lse, call, kernels),
            #[cfg(not(feature = "cuda"))]
            Path::Kernels(..) => unreachable!("`strategy::choose` has no kernel to choose"),
            Path::Composed => composed::backward::<Self>(saved, d_o, d_lse, call),
        }
    }
}
