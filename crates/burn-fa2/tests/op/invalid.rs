//! Every bad argument gives the error of the rule that it breaks, and nothing is computed.

use burn::tensor::{DType, Device, Tensor, ops::AttentionModuleOptions};
use burn_fa2::{
    FlashAttentionError as Error, FlashAttentionOptions, Reason, Strategy, flash_attention,
    try_attention, try_flash_attention, try_flash_attention_with_lse,
};

use crate::support::cpu;

fn zeros(shape: [usize; 4]) -> Tensor<4> {
    Tensor::zeros(shape, &cpu())
}

/// The error that both families of entry points give for these operands.
#[track_caller]
fn error(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>) -> Error {
    let clone = || (q.clone(), k.clone(), v.clone());
    let options = FlashAttentionOptions::default();
    let (a, b, c) = clone();
    let first = try_flash_attention(a, b, c, options).expect_err("flash_attention took it");
    let (a, b, c) = clone();
    let second = try_attention(a, b, c, None, None, AttentionModuleOptions::default());
    assert_eq!(second.expect_err("attention took it"), first);
    let third = try_flash_attention_with_lse(q, k, v, options);
    assert_eq!(
        third
            .map(drop)
            .expect_err("flash_attention_with_lse took it"),
        first
    );
    first
}

#[track_caller]
fn shape_error(q: [usize; 4], k: [usize; 4], v: [usize; 4]) -> String {
    let error = error(zeros(q), zeros(k), zeros(v));
    assert!(matches!(error, Error::Shape { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn batch_sizes_must_agree() {
    let (one, two) = ([1, 2, 3, 8], [2, 2, 3, 8]);
    assert_eq!(
        shape_error(one, two, two),
        "key has batch size 2, but query has 1: they must be equal",
    );
    assert_eq!(
        shape_error(one, one, two),
        "value has batch size 2, but query has 1: they must be equal",
    );
}

#[test]
fn key_and_value_heads_must_agree() {
    assert_eq!(
        shape_error([1, 4, 3, 8], [1, 4, 3, 8], [1, 2, 3, 8]),
        "value has head count 2, but key has 4: they must be equal",
    );
}

#[test]
fn query_and_key_columns_must_agree() {
    assert_eq!(
        shape_error([1, 1, 3, 8], [1, 1, 3, 16], [1, 1, 3, 16]),
        "key has head_dim 16, but query has 8: they must be equal",
    );
}

/// STRIDE-08: a value longer than the key was read past the key's end.
#[test]
fn key_and_value_lengths_must_agree() {
    assert_eq!(
        shape_error([1, 1, 3, 8], [1, 1, 5, 8], [1, 1, 6, 8]),
        "value has sequence length 6, but key has 5: they must be equal",
    );
}

/// EMPTY-08: 9 query heads over 7 key heads, with no rows at all, was a division by zero.
#[test]
fn query_heads_must_be_a_multiple_of_key_heads() {
    for (query, key, rows) in [(4, 3, 5), (2, 4, 5), (4, 0, 5), (9, 7, 0)] {
        let kv = [1, key, rows, 8];
        let error = error(zeros([1, query, rows, 8]), zeros(kv), zeros(kv));
        assert_eq!(error, Error::Heads { query, key });
    }
}

#[test]
fn head_dim_must_not_be_zero() {
    let empty = || zeros([1, 1, 3, 0]);
    assert_eq!(error(empty(), empty(), empty()), Error::HeadDim);
}

#[test]
fn dtypes_must_agree() {
    let zeros = |dtype| Tensor::<4>::zeros([1, 1, 3, 8], (&cpu(), dtype));
    let single = || zeros(DType::F32);
    let mismatch = |argument| Error::DTypeMismatch {
        argument,
        dtype: DType::F16,
        query: DType::F32,
    };
    assert_eq!(
        error(single(), zeros(DType::F16), single()),
        mismatch("key")
    );
    assert_eq!(
        error(single(), single(), zeros(DType::F16)),
        mismatch("value")
    );
}

#[test]
fn checkpointing_strategies_must_agree() {
    let plain = Device::flex().autodiff();
    let balanced = Device::flex().autodiff().gradient_checkpointing();
    let zeros = |device: &Device| Tensor::<4>::zeros([1, 1, 3, 8], device);
    let error = error(zeros(&plain), zeros(&cpu()), zeros(&balanced));
    assert!(
        matches!(
            error,
            Error::Checkpointing {
                argument: "value",
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn scale_must_be_finite() {
    for scale in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let [q, k, v] = [0; 3].map(|_| zeros([1, 1, 3, 8]));
        let options = FlashAttentionOptions::default().with_scale(scale);
        let error = try_flash_attention(q.clone(), k.clone(), v.clone(), options).expect_err("bad");
        assert!(matches!(error, Error::Scale(value) if value.to_bits() == scale.to_bits()));
        let options = AttentionModuleOptions {
            scale: Some(scale),
            ..Default::default()
        };
        let error = try_attention(q, k, v, None, None, options).expect_err("bad");
        assert!(matches!(error, Error::Scale(value) if value.to_bits() == scale.to_bits()));
    }
}

#[test]
fn softcap_must_be_finite_and_positive() {
    for softcap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let [q, k, v] = [0; 3].map(|_| zeros([1, 1, 3, 8]));
        let options = AttentionModuleOptions {
            softcap: Some(softcap),
            ..Default::default()
        };
        let error = try_attention(q, k, v, None, None, options).expect_err("bad");
        assert!(matches!(error, Error::Softcap(value) if value.to_bits() == softcap.to_bits()));
    }
}

#[test]
fn mask_and_bias_must_broadcast_to_the_scores() {
    let scores = [2, 4, 3, 5];
    for shape in [
        [3, 4, 3, 5],
        [2, 2, 3, 5],
        [2, 4, 5, 3],
        [2, 4, 3, 4],
        [0, 4, 3, 5],
    ] {
        let attention = |mask: bool| {
            let extra = zeros(shape);
            let (mask, bias) = match mask {
                true => (Some(extra.greater_elem(0.0)), None),
                false => (None, Some(extra)),
            };
            let [q, k, v] = [[2, 4, 3, 8], [2, 2, 5, 8], [2, 2, 5, 8]].map(zeros);
            try_attention(q, k, v, mask, bias, AttentionModuleOptions::default()).expect_err("bad")
        };
        assert_eq!(
            attention(true),
            Error::Broadcast {
                argument: "mask",
                shape,
                scores
            }
        );
        assert_eq!(
            attention(false),
            Error::Broadcast {
                argument: "attn_bias",
                shape,
                scores
            }
        );
    }
}

#[test]
fn bias_must_have_the_dtype_of_the_query() {
    let [q, k, v] = [0; 3].map(|_| zeros([1, 1, 3, 8]));
    let bias = Tensor::zeros([1, 1, 3, 3], (&cpu(), DType::F64));
    let error = try_attention(q, k, v, None, Some(bias), AttentionModuleOptions::default());
    assert_eq!(
        error.expect_err("bad"),
        Error::DTypeMismatch {
            argument: "attn_bias",
            dtype: DType::F64,
            query: DType::F32
        },
    );
}

#[test]
fn a_forced_kernel_on_a_cpu_is_an_error_with_the_reason() {
    // Also for what needs no computing: the answer must not depend on the lengths.
    for (rows, forced) in [
        (3, Strategy::CubeCl),
        (0, Strategy::CubeCl),
        (3, Strategy::Hopper),
        (0, Strategy::Hopper),
        (3, Strategy::Cute),
        (0, Strategy::Cute),
    ] {
        let [q, k, v] = [0; 3].map(|_| zeros([1, 1, rows, 8]));
        let options = FlashAttentionOptions::default().with_strategy(forced);
        let error = try_flash_attention(q, k, v, options).expect_err("there is no kernel here");
        let Error::Kernel { strategy, reason } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(*strategy, forced);
        assert!(
            matches!(reason, Reason::Device { .. } | Reason::NotCompiled { .. }),
            "{reason:?}"
        );
        assert!(
            error
                .to_string()
                .starts_with(&format!("Strategy::{forced:?} can't serve this call: ")),
            "{error}"
        );
    }
}

#[test]
#[should_panic(expected = "key has head_dim 16, but query has 8: they must be equal")]
fn the_plain_form_panics_with_the_text_of_the_error() {
    let kv = || zeros([1, 1, 3, 16]);
    let _ = flash_attention(
        zeros([1, 1, 3, 8]),
        kv(),
        kv(),
        FlashAttentionOptions::default(),
    );
}
