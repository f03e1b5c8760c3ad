//! What can be wrong with a call: one variant per rule, with the argument, its value and the rule.

use burn::tensor::DType;

use crate::options::Strategy;

/// Why an attention was not computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FlashAttentionError {
    /// An argument lives on another device than the query.
    #[error("{argument} is on {device}, but query is on {query}: all tensors must share a device")]
    Device {
        /// The argument.
        argument: &'static str,
        /// Its device.
        device: String,
        /// The query's device.
        query: String,
    },
    /// Two arguments are tracked by autodiff graphs with different gradient checkpointing.
    #[error(
        "{argument} has gradient checkpointing {strategy}, but another argument has {other}: \
         all tracked tensors must share one strategy"
    )]
    Checkpointing {
        /// The argument.
        argument: &'static str,
        /// Its strategy.
        strategy: String,
        /// The strategy of an earlier argument.
        other: String,
    },
    /// An argument has another element type than the query.
    #[error(
        "{argument} has dtype {dtype:?}, but query has {query:?}: all tensors must share a dtype"
    )]
    DTypeMismatch {
        /// The argument.
        argument: &'static str,
        /// Its element type.
        dtype: DType,
        /// The query's element type.
        query: DType,
    },
    /// The query is not in a floating-point format that can be computed with.
    #[error("query has dtype {0:?}, but attention needs F64, F32, Flex32, F16 or BF16")]
    DType(DType),
    /// An axis of the key or value differs from the axis it must equal.
    #[error("{argument} has {axis} {value}, but {other} has {expected}: they must be equal")]
    Shape {
        /// The argument.
        argument: &'static str,
        /// The axis.
        axis: &'static str,
        /// Its size.
        value: usize,
        /// The argument that it must agree with.
        other: &'static str,
        /// The size there.
        expected: usize,
    },
    /// The query heads can't be shared out evenly among the key/value heads.
    #[error("query has {query} heads, which is not a multiple of the {key} heads of key and value")]
    Heads {
        /// Heads of the query.
        query: usize,
        /// Heads of key and value.
        key: usize,
    },
    /// There is nothing to multiply.
    #[error("query has head_dim 0, but attention needs at least 1")]
    HeadDim,
    /// The scale is not a number, or infinite.
    #[error("scale is {0}, but it must be finite")]
    Scale(f64),
    /// The softcap can't be divided by.
    #[error("softcap is {0}, but it must be finite and above 0")]
    Softcap(f64),
    /// A mask or bias does not broadcast to the scores.
    #[error(
        "{argument} has shape {shape:?}, but every axis must be 1 or that of the scores, {scores:?}"
    )]
    Broadcast {
        /// The argument.
        argument: &'static str,
        /// Its shape.
        shape: [usize; 4],
        /// `[batch, heads_q, seq_q, seq_k]`.
        scores: [usize; 4],
    },
    /// A strategy was forced, but its kernel can't serve.
    #[error("Strategy::{strategy:?} can't serve this call: {reason}")]
    Kernel {
        /// The strategy.
        strategy: Strategy,
        /// What is against it.
        #[source]
        reason: Reason,
    },
}

/// Why the kernel can't serve a call that the composed path can.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The device is not an NVIDIA GPU.
    #[error("the kernel runs on CUDA devices, and the tensors are on {device}")]
    Device {
        /// The device.
        device: String,
    },
    /// This build has no kernel.
    #[error("burn-fa2 was built without its feature `{feature}`, and the tensors are on {device}")]
    NotCompiled {
        /// The Cargo feature that brings it.
        feature: &'static str,
        /// The device.
        device: String,
    },
    /// The GPU lacks what the kernel needs.
    #[error("{0}")]
    Capability(String),
    /// The kernel multiplies f16 and bf16.
    #[error("the kernel takes F16 and BF16, and the tensors are {0:?}")]
    DType(DType),
    /// The largest compiled head size is smaller.
    #[error("head_dim is {0}, and the kernel takes at most 256")]
    HeadDim(usize),
    /// The kernel has one head size for Q, K, V and O.
    #[error("value has head_dim {value} and query {query}, and the kernel needs them to be equal")]
    ValueDim {
        /// Columns of the value.
        value: usize,
        /// Columns of the query.
        query: usize,
    },
    /// The kernel applies the scale after the row maximum: `max(c x) = c max(x)` needs `c > 0`.
    #[error("scale is {0}, and the kernel needs one that is above 0 and finite as an f32")]
    Scale(f64),
    /// The kernel has no mask but the causal one.
    #[error("there is a mask, and the kernel has none but the causal one")]
    Mask,
    /// The kernel adds nothing to the scores.
    #[error("there is an attn_bias, and the kernel takes none")]
    Bias,
    /// The kernel does not cap the scores.
    #[error("there is a softcap, and the kernel has none")]
    Softcap,
    /// Another rule of the kernel.
    #[error("{0}")]
    Rule(String),
    /// The kernel does not compile, or does not load.
    #[error("{0}")]
    Compilation(String),
}
