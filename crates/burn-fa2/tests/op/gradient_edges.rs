//! Gradients where there is little to differentiate: one key, blind rows, no rows, masks.

use burn::tensor::{Bool, DType, Tensor, module::attention_fallback, ops::AttentionModuleOptions};
use burn_fa2::{FlashAttentionOptions, attention, flash_attention, flash_attention_with_lse};
use fa2_testing::Report;

use crate::{
    gradients::{gradients, leaves, loss},
    support::{cpu, f64s, noise, random_mask},
};

/// STRIDE-02: the gradient of `sum()` is one value with stride 0.
#[test]
fn sum_can_be_differentiated() {
    let device = cpu().autodiff();
    let leaves = leaves([2, 2], [5, 5], DType::F32, &device);
    let [q, k, v] = leaves.clone();
    let o = flash_attention(q, k, v, FlashAttentionOptions::default());
    let [_, _, d_v] = gradients(o.sum(), &leaves);
    // The rows of P sum to 1, so the columns of dV = P^T 1 sum to the number of queries.
    for head in d_v.chunks(5 * 8) {
        let sum: f64 = head.iter().sum();
        assert!(
            (sum - 40.0).abs() < 40.0 * 40.0_f64.sqrt() * f64::from(f32::EPSILON),
            "{sum}"
        );
    }
}

/// MASK-02: the softmax of one key is 1, whatever Q and K are.
#[test]
fn one_key_has_no_gradient_in_q_and_k() {
    let device = cpu().autodiff();
    let leaves = leaves([1, 1], [1, 1], DType::F32, &device);
    let [q, k, v] = leaves.clone();
    let o = flash_attention(q, k, v, FlashAttentionOptions::default());
    let d_o = f64s(noise(o.dims(), 4, &cpu()));
    let [d_q, d_k, d_v] = gradients(loss(o, None), &leaves);
    assert!(d_v == d_o);
    // dP - delta is the difference of two sums of the same 8 products.
    let zero = |d: &Vec<f64>| {
        d.iter()
            .all(|value| value.abs() <= 8.0 * f64::from(f32::EPSILON))
    };
    assert!(zero(&d_q) && zero(&d_k), "{d_q:?} {d_k:?}");
}

/// MASK-01: rows that see no key have a zero gradient, not NaN; `-inf` in LSE must not
/// spread.
#[test]
fn blind_rows_have_zero_gradients() {
    let device = cpu().autodiff();
    let leaves = leaves([2, 2], [9, 4], DType::F32, &device);
    let [q, k, v] = leaves.clone();
    let o = flash_attention(q, k, v, FlashAttentionOptions::causal());
    let [d_q, d_k, d_v] = gradients(loss(o, None), &leaves);
    assert!(
        [&d_k, &d_v]
            .into_iter()
            .flatten()
            .all(|value| value.is_finite() && *value != 0.0)
    );
    for (row, d_q) in d_q.chunks(8).enumerate() {
        assert!(
            d_q.iter().all(|value| value.is_finite()),
            "row {row}: {d_q:?}"
        );
        match row % 9 {
            0..5 => assert!(d_q.iter().all(|value| *value == 0.0), "row {row}: {d_q:?}"),
            5 => {} // It sees one key: its softmax is constant, up to rounding.
            _ => assert!(d_q.iter().any(|value| *value != 0.0), "row {row}: {d_q:?}"),
        }
    }
}

/// EMPTY-03: no query, or no key: the gradients are there, and zero.
#[test]
fn empty_operands_have_zero_gradients() {
    let device = cpu().autodiff();
    for rows in [[0, 4], [4, 0]] {
        let leaves = leaves([2, 2], rows, DType::F32, &device);
        let [q, k, v] = leaves.clone();
        let o = flash_attention(q, k, v, FlashAttentionOptions::default());
        for (gradient, leaf) in gradients(o.sum(), &leaves).iter().zip(&leaves) {
            assert_eq!(gradient.len(), leaf.dims().iter().product::<usize>());
            assert!(gradient.iter().all(|value| *value == 0.0));
        }
    }
}

#[test]
fn only_tracked_operands_get_a_gradient() {
    let tracked = leaves([4, 2], [5, 7], DType::F32, &cpu().autodiff());
    let constants = tracked.clone().map(Tensor::without_autodiff);
    let of = |[q, k, v]: [Tensor<4>; 3]| {
        let (o, lse) = flash_attention_with_lse(q, k, v, FlashAttentionOptions::causal());
        loss(o, Some(lse))
    };
    let all = gradients(of(tracked.clone()), &tracked);
    for index in 0..3 {
        let mut operands = constants.clone();
        operands[index] = tracked[index].clone();
        let gradients = of(operands).backward();
        let gradient = tracked[index]
            .grad(&gradients)
            .expect("the tracked operand has a gradient");
        assert_eq!(f64s(gradient), all[index]);
        let other = &tracked[(index + 1) % 3];
        assert!(
            other.grad(&gradients).is_none(),
            "a constant got a gradient"
        );
    }
}

#[test]
fn nothing_is_tracked_without_autodiff() {
    let [q, k, v] = [1, 2, 3].map(|seed| noise([1, 1, 3, 8], seed, &cpu()));
    assert!(!flash_attention(q, k, v, FlashAttentionOptions::default()).is_autodiff());
}

/// CAP-02, STRIDE-07: what only `attention` takes is differentiated too, the bias included, for
/// strided operands.
#[test]
fn attention_with_mask_bias_and_softcap_equals_burns_gradients() {
    type Attention = fn(
        Tensor<4>,
        Tensor<4>,
        Tensor<4>,
        Option<Tensor<4, Bool>>,
        Option<Tensor<4>>,
        AttentionModuleOptions,
    ) -> Tensor<4>;
    let options = AttentionModuleOptions {
        scale: Some(0.5),
        softcap: Some(1.5),
        is_causal: true,
    };
    let device = cpu().autodiff();
    let of = |dtype, attention: Attention| {
        // Stored (B, S, H, D), seen as (B, H, S, D).
        let leaves = leaves([7, 7], [3, 3], dtype, &device);
        let bias = noise([1, 3, 7, 7], 7, &device).cast(dtype).require_grad();
        let [q, k, v] = leaves.clone().map(|leaf| leaf.swap_dims(1, 2)); // (B, H, S, D)
        let mask = random_mask([2, 1, 7, 7], 5, 3);
        let o = attention(q, k, v, Some(mask), Some(bias.clone()), options);
        let gradients = loss(o, None).backward();
        let [d_q, d_k, d_v] = leaves
            .each_ref()
            .map(|leaf| f64s(leaf.grad(&gradients).expect("tracked")));
        [d_q, d_k, d_v, f64s(bias.grad(&gradients).expect("tracked"))]
    };
    let reference = of(DType::F64, attention_fallback);
    let yardstick = of(DType::F32, attention_fallback);
    for ((actual, yardstick), reference) in of(DType::F32, attention)
        .iter()
        .zip(&yardstick)
        .zip(&reference)
    {
        let largest = reference
            .iter()
            .fold(0.0_f64, |max, value| max.max(value.abs()));
        let noise = f64::from(f32::EPSILON) * (1.0 + 22.0_f64.sqrt()) * largest;
        let report = Report::new(actual, yardstick, reference, noise);
        assert!(report.passed, "{report}");
    }
}

/// A fully masked row: Burn's fallback is 0 there, and so must the gradients be.
#[test]
fn fully_masked_rows_have_zero_gradients() {
    let device = cpu().autodiff();
    let leaves = leaves([1, 1], [3, 3], DType::F32, &device);
    let [q, k, v] = leaves.clone();
    let mask = random_mask([2, 1, 3, 3], 1, 1);
    assert!(
        mask.clone().all().into_scalar::<bool>(),
        "everything is masked"
    );
    let o = attention(q, k, v, Some(mask), None, AttentionModuleOptions::default());
    for gradient in gradients(loss(o * 1e30, None), &leaves) {
        assert!(gradient.iter().all(|value| *value == 0.0), "{gradient:?}");
    }
}
