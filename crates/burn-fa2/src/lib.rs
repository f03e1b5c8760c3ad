//! FlashAttention-2 as an op for the [Burn](https://burn.dev) deep-learning framework.
//!
//! On an NVIDIA GPU (compute capability 8.0 and up) f16 and bf16 attention runs in one fused CubeCL kernel, and its
//! gradient in a few more, none of which writes the score matrix to memory; Hopper GPUs (9.0) have kernels of
//! their own for both. Everything else - other devices, f32, masks, biases, softcap - is composed of Burn
//! operations with the same semantics.
//!
//! # Swapping it in
//!
//! [`attention`] has the signature of `burn::tensor::module::attention`, so it is one changed line:
//!
//! ```diff
//! - use burn::tensor::module::attention;
//! + use burn_fa2::attention;
//! ```
//!
//! # Layout
//!
//! Q is `[batch, heads_q, seq_q, head_dim]`, K and V are `[batch, heads_kv, seq_k, head_dim]`, and
//! `heads_kv` divides `heads_q` (grouped-query and multi-query attention). Any strides are read as
//! they are, so a `[batch, seq, heads, head_dim]` tensor with its axes swapped needs no copy. A kernel
//! has an operand copied where `head_dim` is no multiple of 8 (it is padded with zero columns, and the scale
//! still comes from the original size), where rows don't start at multiples of 16 bytes, and that for
//! Hopper where rows repeat by a stride of 0.
//!
//! # Cargo features
//!
//! `cuda` (default) brings the kernel. `cute` adds the CUDA C++ kernels, which its build compiles
//! with nvcc and CUTLASS's headers ([`Strategy::Cute`]). `cpu`, `flex`, `metal`, `ndarray`, `rocm`, `tch`, `vulkan`,
//! `webgpu` and `wgpu` name the other Burn devices whose gradients then run without keeping the
//! score matrix; without its feature a device works too. `fusion` (default) must be on wherever
//! Burn's own `fusion` is.

#![cfg_attr(
    not(any(
        feature = "cubecl",
        feature = "flex",
        feature = "ndarray",
        feature = "tch"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "a build without devices is an API with nothing behind it"
    )
)]

mod autodiff;
#[cfg_attr(
    any(feature = "ndarray", feature = "tch"),
    allow(deprecated, reason = "deprecated backends are Burn devices too")
)]
mod backend;
mod composed;
#[cfg(feature = "cubecl")]
mod cube;
#[cfg(feature = "cuda")]
mod cute;
mod error;
#[cfg(feature = "cuda")]
mod kernel;
mod op;
mod options;
mod strategy;
mod validate;

pub use error::{FlashAttentionError, Reason};
pub use op::{
    attention, flash_attention, flash_attention_with_lse, try_attention, try_flash_attention,
    try_flash_attention_with_lse,
};
pub use options::{CausalAlignment, FlashAttentionOptions, Mask, Strategy};
