//! Every rule on the arguments, checked before anything is computed.

use burn::tensor::{Bool, DType, Device, Tensor, ops::AttentionModuleOptions};

use crate::error::FlashAttentionError as Error;

/// The sizes of a valid call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    pub(crate) heads_q: usize,
    pub(crate) heads_kv: usize,
    pub(crate) seq_q: usize,
    pub(crate) seq_k: usize,
    pub(crate) head_dim: usize,
    pub(crate) value_dim: usize,
}

impl Sizes {
    pub(crate) fn new(q: [usize; 4], k: [usize; 4], v: [usize; 4]) -> Self {
        Self {
            batch: q[0],
            heads_q: q[1],
            heads_kv: k[1],
            seq_q: q[2],
            seq_k: k[2],
            head_dim: q[3],
            value_dim: v[3],
        }
    }

    /// Shape of S and P.
    pub(crate) fn scores(&self) -> [usize; 4] {
        [self.batch, self.heads_q, self.seq_q, self.seq_k]
    }

    /// Shape of O.
    pub(crate) fn output(&self) -> [usize; 4] {
        [self.batch, self.heads_q, self.seq_q, self.value_dim]
    }

    /// Shape of LSE.
    pub(crate) fn lse(&self) -> [usize; 3] {
        [self.batch, self.heads_q, self.seq_q]
    }

    /// Whether there is no score at all, so that O is 0 and LSE `-inf` (or both are empty).
    pub(crate) fn without_scores(&self) -> bool {
        self.scores().contains(&0) || self.value_dim == 0
    }
}

/// Checks Q, K and V against each other.
pub(crate) fn operands(q: &Tensor<4>, k: &Tensor<4>, v: &Tensor<4>) -> Result<Sizes, Error> {
    let (query, dtype) = (q.device(), q.dtype());
    let float = [
        DType::F64,
        DType::F32,
        DType::Flex32,
        DType::F16,
        DType::BF16,
    ];
    if !float.contains(&dtype) {
        return Err(Error::DType(dtype));
    }
    for (argument, tensor) in [("key", k), ("value", v)] {
        same_device(argument, &tensor.device(), &query)?;
        same_dtype(argument, tensor.dtype(), dtype)?;
    }
    same_checkpointing([("query", q), ("key", k), ("value", v)])?;

    let [dim_q, dim_k, dim_v] = [q, k, v].map(|tensor| tensor.dims());
    equal("key", "batch size", dim_k[0], "query", dim_q[0])?;
    equal("value", "batch size", dim_v[0], "query", dim_q[0])?;
    equal("value", "head count", dim_v[1], "key", dim_k[1])?;
    equal("key", "head_dim", dim_k[3], "query", dim_q[3])?;
    equal("value", "sequence length", dim_v[2], "key", dim_k[2])?;

    let sizes = Sizes::new(dim_q, dim_k, dim_v);
    // 0 is a multiple of everything, 0 included; nothing else is a multiple of 0.
    if !sizes.heads_q.is_multiple_of(sizes.heads_kv) {
        return Err(Error::Heads {
            query: sizes.heads_q,
            key: sizes.heads_kv,
        });
    }
    if sizes.head_dim == 0 {
        return Err(Error::HeadDim);
    }
    Ok(sizes)
}

/// The factor of the scores.
pub(crate) fn scale(scale: Option<f64>, head_dim: usize) -> Result<f64, Error> {
    match scale {
        Some(scale) if !scale.is_finite() => Err(Error::Scale(scale)),
        Some(scale) => Ok(scale),
        None => Ok(1.0 / (head_dim as f64).sqrt()),
    }
}

/// Checks what only [`attention`](crate::attention) takes.
pub(crate) fn extras(
    q: &Tensor<4>,
    sizes: &Sizes,
    mask: Option<&Tensor<4, Bool>>,
    bias: Option<&Tensor<4>>,
    options: &AttentionModuleOptions,
) -> Result<(), Error> {
    if let Some(softcap) = options.softcap
        && !(softcap.is_finite() && softcap > 0.0)
    {
        return Err(Error::Softcap(softcap));
    }
    if let Some(mask) = mask {
        same_device("mask", &mask.device(), &q.device())?;
        broadcasts("mask", mask.dims(), sizes.scores())?;
    }
    if let Some(bias) = bias {
        same_device("attn_bias", &bias.device(), &q.device())?;
        same_dtype("attn_bias", bias.dtype(), q.dtype())?;
        same_checkpointing([("query", q), ("attn_bias", bias)])?;
        broadcasts("attn_bias", bias.dims(), sizes.scores())?;
    }
    Ok(())
}

fn same_device(argument: &'static str, device: &Device, query: &Device) -> Result<(), Error> {
    // `Device` compares the hardware: tracked and untracked tensors may be mixed.
    if device == query {
        return Ok(());
    }
    Err(Error::Device {
        argument,
        device: name(device),
        query: name(query),
    })
}

/// A device as messages show it.
pub(crate) fn name(device: &Device) -> String {
    format!("{:?}", device.clone().without_autodiff().as_dispatch())
}

fn same_dtype(argument: &'static str, dtype: DType, query: DType) -> Result<(), Error> {
    if dtype == query {
        Ok(())
    } else {
        Err(Error::DTypeMismatch {
            argument,
            dtype,
            query,
        })
    }
}

/// Burn panics where one operation meets two gradient-checkpointing strategies.
fn same_checkpointing<const N: usize>(
    arguments: [(&'static str, &Tensor<4>); N],
) -> Result<(), Error> {
    let mut first = None;
    for (argument, tensor) in arguments {
        let Some(strategy) = tensor.device().gradient_checkpointing_strategy() else {
            continue;
        };
        let other = *first.get_or_insert(strategy);
        if strategy != other {
            return Err(Error::Checkpointing {
                argument,
                strategy: format!("{strategy:?}"),
                other: format!("{other:?}"),
            });
        }
    }
    Ok(())
}

fn equal(
    argument: &'static str,
    axis: &'static str,
    value: usize,
    other: &'static str,
    expected: usize,
) -> Result<(), Error> {
    if value == expected {
        return Ok(());
    }
    Err(Error::Shape {
        argument,
        axis,
        value,
        other,
        expected,
    })
}

fn broadcasts(argument: &'static str, shape: [usize; 4], scores: [usize; 4]) -> Result<(), Error> {
    let fits = shape
        .iter()
        .zip(scores)
        .all(|(size, score)| *size == 1 || *size == score);
    if fits {
        Ok(())
    } else {
        Err(Error::Broadcast {
            argument,
            shape,
            scores,
        })
    }
}
