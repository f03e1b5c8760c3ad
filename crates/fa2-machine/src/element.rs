//! From a case to the kernel's problem.

use bytemuck::Pod;
use fa2_cubecl::{Alignment, Dtype, Mask, Problem};
use fa2_testing::{Case, Causal, Element};
use half::{bf16, f16};

/// An element type that the kernel takes.
pub trait KernelElement: Element + Pod {
    /// The kernel's name of it.
    const DTYPE: Dtype;
}

impl KernelElement for f16 {
    const DTYPE: Dtype = Dtype::F16;
}

impl KernelElement for bf16 {
    const DTYPE: Dtype = Dtype::Bf16;
}

/// The kernel's problem of a case.
#[must_use]
pub fn problem<E: KernelElement>(case: &Case) -> Problem {
    Problem {
        batch: case.batch,
        heads_q: case.heads_q,
        heads_kv: case.heads_kv,
        seq_q: case.seq_q,
        seq_k: case.seq_k,
        head_dim: case.head_dim,
        dtype: E::DTYPE,
        mask: match case.causal {
            Causal::None => Mask::None,
            Causal::BottomRight => Mask::Causal(Alignment::BottomRight),
            Causal::TopLeft => Mask::Causal(Alignment::TopLeft),
        },
        scale: case.scale_value() as f32,
    }
}
