//! Attention composed of separate operations: any device, any dtype, every option, O(seq_q * seq_k)
//! memory.
//!
//! In Burn's order: `S = scale * Q K^T`, softcap, mask, causal mask, bias, softmax, `O = P V`. Half
//! types are multiplied as such; what lies between the two products is computed in f32. A row whose
//! scores are all `-inf` has O = 0 and LSE = `-inf`. A bias that is finite but very negative, such
//! as `f32::MIN`, is no mask: a row that has it everywhere is uniform, as in Burn.
//!
//! Grouped heads need no repeated K and V: the `group` query heads that share one key head are
//! adjacent, so `[batch, heads_q, seq_q, d]` is `[batch, heads_kv, group * seq_q, d]` under another
//! name.

use burn::{
    backend::{
        Backend, TensorMetadata, get_or_init_device_settings,
        tensor::{BoolTensor, Device, FloatTensor},
    },
    tensor::{DType, FloatDType, Shape},
};

use crate::{
    backend::BackwardCall,
    options::{CausalAlignment, Mask},
    validate::Sizes,
};

/// Everything that happens between the two products.
pub(crate) struct Scores<B: Backend> {
    pub(crate) scale: f64,
    pub(crate) softcap: Option<f64>,
    /// True where a key is hidden.
    pub(crate) mask: Option<BoolTensor<B>>,
    pub(crate) causal: Mask,
    pub(crate) bias: Option<FloatTensor<B>>,
}

impl<B: Backend> Scores<B> {
    pub(crate) fn new(causal: Mask, scale: f64) -> Self {
        Self {
            scale,
            softcap: None,
            mask: None,
            causal,
            bias: None,
        }
    }
}

/// What the backward pass needs of the forward pass.
pub(crate) struct Saved<B: Backend> {
    pub(crate) q: FloatTensor<B>,
    pub(crate) k: FloatTensor<B>,
    pub(crate) v: FloatTensor<B>,
    pub(crate) o: FloatTensor<B>,
    pub(crate) lse: FloatTensor<B>,
}

/// The format of S, P and LSE.
pub(crate) fn softmax_dtype(dtype: DType) -> FloatDType {
    if dtype == DType::F64 {
        FloatDType::F64
    } else {
        FloatDType::F32
    }
}

/// The format of the products' factors: the operands' own, but f32 for f16 on Flex, whose product
/// with a single row rounds every partial sum to f16 (`gemv` of gemm 0.19): 2e-3 off at 1025 keys.
fn product_dtype<B: Backend>(dtype: DType, device: &Device<B>) -> FloatDType {
    // The name also tells through Burn's decorators: `dispatch<autodiff<flex>>`.
    if dtype == DType::F16 && B::name(device).contains("flex") {
        return FloatDType::F32;
    }
    float(dtype)
}

/// O and LSE.
pub(crate) fn forward<B: Backend>(
    q: FloatTensor<B>,
    k: FloatTensor<B>,
    v: FloatTensor<B>,
    scores: Scores<B>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (dtype, device) = (q.dtype(), q.device());
    let sizes = Sizes::new(q.shape().dims(), k.shape().dims(), v.shape().dims());
    if sizes.without_scores() {
        return without_scores::<B>(&sizes, dtype, &device);
    }
    let factor = product_dtype::<B>(dtype, &device);
    let [q, k, v] = [q, k, v].map(|operand| B::float_cast(operand, factor));

    let s = transformed::<B>(q, k, &scores, &sizes);

    // The maximum only moves the exponent, so no gradient may flow through it. A row of -inf would
    // give -inf - -inf = NaN: the clamp makes it exp(-inf - MIN) = 0.
    let lowest = s
        .dtype()
        .finfo()
        .map_or(f64::from(f32::MIN), |info| info.min);
    let m = B::float_max_dim(B::float_detach(s.clone()), 3);
    let m = B::float_clamp_min(m, lowest.into());
    let p = B::float_exp(B::float_sub(s, m.clone()));

    // A row without keys has l = 0; every other one has l >= 1, for its maximum contributes exp(0).
    let l = B::float_sum_dim(p.clone(), 3);
    let bools = get_or_init_device_settings::<B>(&device).bool_dtype;
    let blind = B::float_equal_elem(l.clone(), 0.0_f32.into(), bools);
    let l = B::float_mask_fill(l, blind.clone(), 1.0_f32.into());
    let lse = B::float_add(m, B::float_log(l.clone()));
    let lse = B::float_mask_fill(lse, blind, f32::NEG_INFINITY.into());
    let p = B::float_cast(B::float_div(p, l), factor);

    let p = group::<B>(p, sizes.heads_kv);
    let o = ungroup::<B>(B::float_matmul(p, v), sizes.heads_q);
    (
        B::float_cast(o, float(dtype)),
        B::float_reshape(lse, Shape::new(sizes.lse())),
    )
}

/// dQ, dK and dV, from the gradients of O and of LSE.
pub(crate) fn backward<B: Backend>(
    saved: Saved<B>,
    d_o: FloatTensor<B>,
    d_lse: FloatTensor<B>,
    call: BackwardCall,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let Saved { q, k, v, o, lse } = saved;
    let (dtype, device) = (q.dtype(), q.device());
    let sizes = Sizes::new(q.shape().dims(), k.shape().dims(), v.shape().dims());
    if sizes.without_scores() {
        return no_gradients::<B>([&q, &k, &v]);
    }
    let [wants_q, wants_k, wants_v] = call.wanted;
    let call = call.forward;
    let delta = B::float_sub(delta::<B>(d_o.clone(), o), d_lse);
    let factor = product_dtype::<B>(dtype, &device);
    let [q, k, v, d_o] = [q, k, v, d_o].map(|operand| B::float_cast(operand, factor));
    let columns = |rows| {
        let [batch, heads, seq] = sizes.lse();
        B::float_reshape(rows, Shape::new([batch, heads, seq, 1]))
    };

    // P = exp(S - LSE). A row without keys has S = LSE = -inf; with LSE = 0 in its place, P is 0.
    let s = transformed::<B>(
        q.clone(),
        k.clone(),
        &Scores::new(call.mask, call.scale),
        &sizes,
    );
    let bools = get_or_init_device_settings::<B>(&device).bool_dtype;
    let blind = B::float_equal_elem(lse.clone(), f32::NEG_INFINITY.into(), bools);
    let lse = columns(B::float_mask_fill(lse, blind, 0.0_f32.into()));
    let p = B::float_exp(B::float_sub(s, lse));

    // The products below sum over the group of query heads that share a key head.
    let d_o = group::<B>(d_o, sizes.heads_kv);
    let p_cast = group::<B>(B::float_cast(p.clone(), factor), sizes.heads_kv);
    // Of what is not wanted, the operand itself has the right shape.
    let (mut d_q, mut d_k, mut d_v) = (q.clone(), k.clone(), v.clone());
    if wants_v {
        d_v = B::float_matmul(B::float_transpose(p_cast), d_o.clone());
    }
    if wants_q || wants_k {
        let d_p = B::float_matmul(d_o, B::float_transpose(v));
        let d_p = B::float_cast(ungroup::<B>(d_p, sizes.heads_q), softmax_dtype(dtype));
        let d_s = B::float_mul(p, B::float_sub(d_p, columns(delta)));
        let d_s = B::float_mul_scalar(d_s, call.scale.into());
        let d_s = group::<B>(B::float_cast(d_s, factor), sizes.heads_kv);
        if wants_q {
            d_q = ungroup::<B>(B::float_matmul(d_s.clone(), k), sizes.heads_q);
        }
        if wants_k {
            d_k = B::float_matmul(B::float_transpose(d_s), group::<B>(q, sizes.heads_kv));
        }
    }
    let [d_q, d_k, d_v] = [d_q, d_k, d_v].map(|gradient| B::float_cast(gradient, float(dtype)));
    (d_q, d_k, d_v)
}

/// Zeros for Q, K and V.
pub(crate) fn no_gradients<B: Backend>(
    operands: [&FloatTensor<B>; 3],
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let [d_q, d_k, d_v] = operands
        .map(|operand| B::float_zeros(operand.shape(), &operand.device(), operand.dtype().into()));
    (d_q, d_k, d_v)
}

/// `rowsum(dO * O)`.
fn delta<B: Backend>(d_o: FloatTensor<B>, o: FloatTensor<B>) -> FloatTensor<B> {
    let sums = softmax_dtype(o.dtype());
    let [batch, heads, seq, _] = o.shape().dims();
    let products = B::float_mul(B::float_cast(d_o, sums), B::float_cast(o, sums));
    B::float_reshape(
        B::float_sum_dim(products, 3),
        Shape::new([batch, heads, seq]),
    )
}

/// O = 0 and LSE = `-inf`, of the right shapes.
pub(crate) fn without_scores<B: Backend>(
    sizes: &Sizes,
    dtype: DType,
    device: &Device<B>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let infinite = f32::NEG_INFINITY.into();
    (
        B::float_zeros(Shape::new(sizes.output()), device, float(dtype)),
        B::float_full(
            Shape::new(sizes.lse()),
            infinite,
            device,
            softmax_dtype(dtype),
        ),
    )
}

/// S after everything but the softmax.
fn transformed<B: Backend>(
    q: FloatTensor<B>,
    k: FloatTensor<B>,
    scores: &Scores<B>,
    sizes: &Sizes,
) -> FloatTensor<B> {
    let (dtype, device, shape) = (
        softmax_dtype(q.dtype()),
        q.device(),
        Shape::new(sizes.scores()),
    );
    let q = group::<B>(q, sizes.heads_kv);
    let s = ungroup::<B>(B::float_matmul(q, B::float_transpose(k)), sizes.heads_q);
    let mut s = B::float_mul_scalar(B::float_cast(s, dtype), scores.scale.into());
    // Before any mask: tanh would turn -inf into a finite score.
    if let Some(softcap) = scores.softcap {
        let tanh = B::float_tanh(B::float_div_scalar(s, softcap.into()));
        s = B::float_mul_scalar(tanh, softcap.into());
    }
    // Masks are expanded by hand: some backends fill wrongly where a mask must be broadcast
    // (burn#5767).
    if let Some(mask) = scores.mask.clone() {
        let mask = B::bool_expand(mask, shape.clone());
        s = B::float_mask_fill(s, mask, f32::NEG_INFINITY.into());
    }
    if let Mask::Causal(alignment) = scores.causal {
        let mask = B::bool_expand(hidden::<B>(sizes, alignment, &device), shape.clone());
        s = B::float_mask_fill(s, mask, f32::NEG_INFINITY.into());
    }
    if let Some(bias) = scores.bias.clone() {
        s = B::float_add(s, B::float_expand(B::float_cast(bias, dtype), shape));
    }
    s
}

/// `[1, 1, seq_q, seq_k]`, true where a causal mask hides the key from the query.
fn hidden<B: Backend>(
    sizes: &Sizes,
    alignment: CausalAlignment,
    device: &Device<B>,
) -> BoolTensor<B> {
    let settings = get_or_init_device_settings::<B>(device);
    let (seq_q, seq_k) = (sizes.seq_q, sizes.seq_k);
    let diagonal = match alignment {
        CausalAlignment::BottomRight => seq_k as i64 - seq_q as i64,
        CausalAlignment::TopLeft => 0,
    };
    let positions = |range, shape| {
        B::int_reshape(
            B::int_arange(range, device, settings.int_dtype),
            Shape::new(shape),
        )
    };
    let last_seen = positions(diagonal..diagonal + seq_q as i64, [seq_q, 1]);
    let keys = positions(0..seq_k as i64, [1, seq_k]);
    let hidden = B::int_lower(
        B::int_expand(last_seen, Shape::new([seq_q, seq_k])),
        B::int_expand(keys, Shape::new([seq_q, seq_k])),
        settings.bool_dtype,
    );
    B::bool_reshape(hidden, Shape::new([1, 1, seq_q, seq_k]))
}

/// `[batch, heads_q, rows, cols]` as `[batch, heads_kv, group * rows, cols]`.
fn group<B: Backend>(tensor: FloatTensor<B>, heads_kv: usize) -> FloatTensor<B> {
    let [batch, heads_q, rows, cols] = tensor.shape().dims();
    if heads_q == heads_kv {
        return tensor;
    }
    B::float_reshape(
        tensor,
        Shape::new([batch, heads_kv, heads_q / heads_kv * rows, cols]),
    )
}

/// The inverse of [`group`].
fn ungroup<B: Backend>(tensor: FloatTensor<B>, heads_q: usize) -> FloatTensor<B> {
    let [batch, heads_kv, rows, cols] = tensor.shape().dims();
    if heads_q == heads_kv {
        return tensor;
    }
    B::float_reshape(
        tensor,
        Shape::new([batch, heads_q, rows * heads_kv / heads_q, cols]),
    )
}

fn float(dtype: DType) -> FloatDType {
    dtype.into()
}
