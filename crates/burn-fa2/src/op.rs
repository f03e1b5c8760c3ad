//! The entry points: check, choose a path, compute.

use burn::{
    backend::{Dispatch, DispatchDevice},
    tensor::{Bool, Device, Tensor, ops::AttentionModuleOptions},
};

use crate::{
    backend::{Call, FlashAttentionOps},
    composed::{self, Scores},
    error::{FlashAttentionError as Error, Reason},
    options::{CausalAlignment, FlashAttentionOptions, Mask},
    strategy::{self, Choice, Path, Request},
    validate::{self, Sizes},
};

/// Scaled dot-product attention, with the signature and the semantics of
/// `burn::tensor::module::attention`.
///
/// In this order: `scale * Q K^T`, softcap, `mask` (true hides a key), causal mask (bottom right),
/// `attn_bias`, softmax, `P V`. `mask` and `attn_bias` broadcast to `[batch, heads_q, seq_q,
/// seq_k]`. A row that sees no key gives 0. Beyond Burn's, K and V may have fewer heads than Q.
///
/// A bias that is finite but very negative (`f32::MIN`) is added like any other, as Burn does: a
/// row that has it everywhere attends uniformly. Use `-inf` or `mask` to hide a key.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor, ops::AttentionModuleOptions};
/// use burn_fa2::attention;
///
/// let device = Device::flex();
/// let random = || Tensor::<4>::random([1, 4, 10, 16], Distribution::Default, &device);
/// let options = AttentionModuleOptions::default();
/// let output = attention(random(), random(), random(), None, None, options);
/// assert_eq!(output.dims(), [1, 4, 10, 16]);
/// ```
///
/// # Panics
///
/// With the text of the error that [`try_attention`] would return.
#[must_use]
pub fn attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    mask: Option<Tensor<4, Bool>>,
    attn_bias: Option<Tensor<4>>,
    options: AttentionModuleOptions,
) -> Tensor<4> {
    try_attention(query, key, value, mask, attn_bias, options)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// [`attention`], with an error instead of a panic.
///
/// ```
/// use burn::tensor::{Device, Tensor, ops::AttentionModuleOptions};
/// use burn_fa2::{FlashAttentionError, try_attention};
///
/// let zeros = |heads| Tensor::<4>::zeros([1, heads, 10, 16], &Device::flex());
/// let options = AttentionModuleOptions::default();
/// let result = try_attention(zeros(4), zeros(3), zeros(3), None, None, options);
/// assert_eq!(result.err(), Some(FlashAttentionError::Heads { query: 4, key: 3 }));
/// ```
///
/// # Errors
///
/// The first rule that an argument breaks.
pub fn try_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    mask: Option<Tensor<4, Bool>>,
    attn_bias: Option<Tensor<4>>,
    options: AttentionModuleOptions,
) -> Result<Tensor<4>, Error> {
    let sizes = validate::operands(&query, &key, &value)?;
    let scale = validate::scale(options.scale, sizes.head_dim)?;
    validate::extras(&query, &sizes, mask.as_ref(), attn_bias.as_ref(), &options)?;
    let causal = match options.is_causal {
        true => Mask::Causal(CausalAlignment::BottomRight),
        false => Mask::None,
    };

    let extra = if mask.is_some() {
        Some(Reason::Mask)
    } else if attn_bias.is_some() {
        Some(Reason::Bias)
    } else {
        options.softcap.map(|_| Reason::Softcap)
    };
    // Without scores there is nothing to mask, bias or cap.
    if extra.is_none() || sizes.without_scores() {
        let plain = FlashAttentionOptions::default()
            .with_mask(causal)
            .with_scale(scale);
        return run([query, key, value], &sizes, plain, scale).map(|(output, _)| output);
    }
    strategy::report(&query.device(), Choice::Composed, extra);
    let scores = Scores {
        scale,
        softcap: options.softcap,
        mask: mask.map(Tensor::into_dispatch),
        causal,
        bias: attn_bias.map(Tensor::into_dispatch),
    };
    Ok(composed_on_dispatch([query, key, value], scores).0)
}

/// FlashAttention-2: `softmax(scale * Q K^T + mask) V`.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use burn_fa2::{FlashAttentionOptions, flash_attention};
///
/// let device = Device::flex();
/// let random = |heads| Tensor::<4>::random([1, heads, 10, 16], Distribution::Default, &device);
/// // 8 query heads share 2 key/value heads.
/// let output = flash_attention(random(8), random(2), random(2), FlashAttentionOptions::causal());
/// assert_eq!(output.dims(), [1, 8, 10, 16]);
/// ```
///
/// # Panics
///
/// With the text of the error that [`try_flash_attention`] would return.
#[must_use]
pub fn flash_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    options: FlashAttentionOptions,
) -> Tensor<4> {
    try_flash_attention(query, key, value, options).unwrap_or_else(|error| panic!("{error}"))
}

/// [`flash_attention`], with an error instead of a panic.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fa2::{FlashAttentionError, FlashAttentionOptions, Strategy, try_flash_attention};
///
/// let zeros = || Tensor::<4>::zeros([1, 4, 10, 16], &Device::flex());
/// let options = FlashAttentionOptions::default().with_strategy(Strategy::CubeCl);
/// let result = try_flash_attention(zeros(), zeros(), zeros(), options);
/// assert!(matches!(result, Err(FlashAttentionError::Kernel { .. })), "there is no kernel on a CPU");
/// ```
///
/// # Errors
///
/// The first rule that an argument breaks, or why a forced strategy can't serve.
pub fn try_flash_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    options: FlashAttentionOptions,
) -> Result<Tensor<4>, Error> {
    try_flash_attention_with_lse(query, key, value, options).map(|(output, _)| output)
}

/// [`flash_attention`], with the logarithm of each row's softmax denominator.
///
/// LSE is `[batch, heads_q, seq_q]`, natural, f32 (f64 for f64 operands), `-inf` for a row that
/// sees no key, and differentiable. Two outputs over disjoint keys merge with weights `exp(lse_i -
/// logsumexp(lse_1, lse_2))`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fa2::{FlashAttentionOptions, flash_attention_with_lse};
///
/// let [q, k, v] = [0, 1, 2].map(|_| Tensor::<4>::zeros([1, 1, 2, 8], &Device::flex()));
/// let (_, lse) = flash_attention_with_lse(q, k, v, FlashAttentionOptions::default());
/// // Every row has two scores of 0: ln(1 + 1).
/// assert!((lse.mean().into_scalar::<f32>() - 2_f32.ln()).abs() < f32::EPSILON);
/// ```
///
/// # Panics
///
/// With the text of the error that [`try_flash_attention_with_lse`] would return.
#[must_use]
pub fn flash_attention_with_lse(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    options: FlashAttentionOptions,
) -> (Tensor<4>, Tensor<3>) {
    try_flash_attention_with_lse(query, key, value, options)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// [`flash_attention_with_lse`], with an error instead of a panic.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burn_fa2::{FlashAttentionError, FlashAttentionOptions, try_flash_attention_with_lse};
///
/// let zeros = |rows| Tensor::<4>::zeros([1, 4, rows, 16], &Device::flex());
/// let options = FlashAttentionOptions::default();
/// let result = try_flash_attention_with_lse(zeros(3), zeros(5), zeros(6), options);
/// assert_eq!(
///     result.unwrap_err().to_string(),
///     "value has sequence length 6, but key has 5: they must be equal",
/// );
/// ```
///
/// # Errors
///
/// The first rule that an argument breaks, or why a forced strategy can't serve.
pub fn try_flash_attention_with_lse(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    options: FlashAttentionOptions,
) -> Result<(Tensor<4>, Tensor<3>), Error> {
    let sizes = validate::operands(&query, &key, &value)?;
    let scale = validate::scale(options.scale, sizes.head_dim)?;
    run([query, key, value], &sizes, options, scale)
}

/// Computes what the kernel's interface can express.
fn run(
    [q, k, v]: [Tensor<4>; 3],
    sizes: &Sizes,
    options: FlashAttentionOptions,
    scale: f64,
) -> Result<(Tensor<4>, Tensor<3>), Error> {
    let (device, mask) = (q.device(), options.mask);
    let request = Request {
        device: &device,
        dtype: q.dtype(),
        sizes,
        mask,
        scale,
        tracked: [&q, &k, &v].map(Tensor::is_tracked),
        deterministic: options.deterministic,
    };
    let path = strategy::choose(options.strategy, &request)?;
    if path == Path::Composed && !is_extended(&device) {
        return Ok(composed_on_dispatch([q, k, v], Scores::new(mask, scale)));
    }
    let [q, k, v] = [q, k, v].map(Tensor::into_dispatch);
    let call = Call {
        mask,
        scale,
        path,
        deterministic: options.deterministic,
    };
    let (o, lse) = Dispatch::fa2_forward(q, k, v, call);
    Ok((Tensor::from_dispatch(o), Tensor::from_dispatch(lse)))
}

/// Composes Burn operations from above its dispatch: any device, and Burn differentiates them one
/// by one.
fn composed_on_dispatch(
    operands: [Tensor<4>; 3],
    scores: Scores<Dispatch>,
) -> (Tensor<4>, Tensor<3>) {
    let [q, k, v] = operands.map(Tensor::into_dispatch);
    let (o, lse) = composed::forward::<Dispatch>(q, k, v, scores);
    (Tensor::from_dispatch(o), Tensor::from_dispatch(lse))
}

/// Whether this build extends the device's backend; a remote device, say, has only Burn's own
/// operations.
fn is_extended(device: &Device) -> bool {
    match device.clone().without_autodiff().as_dispatch() {
        #[cfg(feature = "cubecl")]
        DispatchDevice::Cube(_) => true,
        #[cfg(feature = "flex")]
        DispatchDevice::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => true,
        #[cfg(feature = "tch")]
        DispatchDevice::LibTorch(_) => true,
        #[allow(
            unreachable_patterns,
            reason = "every backend of the build may be extended"
        )]
        _ => false,
    }
}
