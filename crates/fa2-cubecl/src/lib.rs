//! FlashAttention-2 kernels in CubeCL, for NVIDIA GPUs from SM80 up.
//!
//! ```text
//! problem -> config, heuristics -> launch -> kernel::forward_sm80
//!                                              scheduler   which rows and key blocks
//!                                              pipeline    K/V ring over copy::g2s
//!                                              mma::gemm   S = Q K^T, O += P V  over copy::s2r
//!                                              mask, score, softmax
//!                                              epilogue    over copy::r2s, copy::s2g
//!                                 -> kernel::forward_sm90   the same in warpgroups with roles
//!                                 -> kernel::backward       over the same copies and products
//!                                 -> kernel::backward_sm90  its main kernel in warpgroups
//! ```
//!
//! Symbols: m is the row maximum, l the row sum, S = Q K^T the scores, P the probabilities before
//! normalisation, O the output. M counts query rows, N keys, K the summed index of a product, D the
//! head size. A cube is CUDA's thread block (CTA), a plane its warp, a unit its thread.
//!
//! The crate knows CubeCL and not Burn; index maps are layouts of [`cute_layout`], instructions
//! come from [`cubecl_ptx`].

// CubeCL's topology constants have dummy values outside a kernel; their arithmetic would trip this.
#![allow(
    missing_docs,
    reason = "`#[cube]` puts undocumented items beside each function"
)]
#![allow(
    unreachable_pub,
    reason = "`#[cube]` needs `pub` methods on crate-private types"
)]
#![allow(
    arithmetic_overflow,
    reason = "topology constants are dummies on the host"
)]

mod arguments;
mod config;
mod copy;
mod epilogue;
mod error;
mod heuristics;
mod kernel;
mod launch;
mod mask;
mod mma;
pub mod offline;
mod pipeline;
mod problem;
mod scheduler;
mod score;
mod softmax;
mod tensor;

pub use config::backward::{BwdConfig, BwdTile, Instructions, Loads, QuerySums};
pub use config::sm90::{FwdSm90Config, FwdSm90Tile, Turns};
pub use config::{Columns, FwdConfig, HEAD_DIMS, RowCopy, Tile, compiled_head_dim};
pub use error::{ConfigError, Fa2Error, Sm90Refusal};
pub use heuristics::backward::sm90::{choose_backward_sm90, refusal_of_backward_sm90};
pub use heuristics::backward::{BwdPlan, choose_backward};
pub use heuristics::sm90::{FwdSm90Plan, choose_sm90, refusal_of_sm90, unmappable_stride};
pub use heuristics::{FwdPlan, Gpu, choose};
pub use kernel::backward::preprocess::LseGradient;
pub use launch::backward::sm90::backward_sm90;
pub use launch::backward::{BwdTensors, backward};
pub use launch::compile::{compile, compile_backward, compile_sm90};
pub use launch::sm90::forward_sm90;
pub use launch::{FwdTensors, TensorRef, check_tensors, device_support, forward, gpu};
pub use mask::MaskKind;
pub use problem::{Alignment, Dtype, Mask, Problem};
pub use score::ScoreKind;
pub use softmax::online::Rescale;
