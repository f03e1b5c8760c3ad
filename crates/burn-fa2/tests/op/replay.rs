//! Published reports whose forward input needs a mask, a bias or a softcap (ids of
//! `docs/cases.md`). The others are cases of `fa2_testing::REPLAY`, or live in `invalid` and
//! `gradients`.

use burn::tensor::{Bool, Tensor, TensorData, ops::AttentionModuleOptions};
use burn_fa2::{attention, try_attention};

use crate::{
    drop_in::Args,
    support::{cpu, f64s, noise},
};

fn bools(values: Vec<bool>, shape: [usize; 4]) -> Tensor<4, Bool> {
    Tensor::from_data(TensorData::new(values, shape), &cpu())
}

fn operands(q: [usize; 4], kv: [usize; 4]) -> [Tensor<4>; 3] {
    [
        noise(q, 1, &cpu()),
        noise(kv, 2, &cpu()),
        noise(kv, 3, &cpu()),
    ]
}

/// MASK-06: a row whose mask hides every key made NaN; it must be 0 and leave the others alone.
#[test]
fn mask_06_a_fully_masked_row_is_zero_not_nan() {
    let [q, k, v] = operands([1, 2, 6, 8], [1, 2, 10, 8]);
    let hidden = (0..60).map(|index| index / 10 == 5).collect();
    let mask = Some(bools(hidden, [1, 1, 6, 10]));
    let options = AttentionModuleOptions::default();
    let masked = f64s(attention(
        q.clone(),
        k.clone(),
        v.clone(),
        mask,
        None,
        options,
    ));
    let plain = f64s(attention(q, k, v, None, None, options));
    for (index, (masked, plain)) in masked.iter().zip(&plain).enumerate() {
        let expected = if index / 8 % 6 == 5 { 0.0 } else { *plain };
        assert_eq!(*masked, expected, "element {index}");
    }
}

/// MASK-08: `f32::MIN` over a part of the keys is finite: no NaN, and no weight there.
#[test]
fn mask_08_a_bias_of_f32_min_hides_keys_without_nan() {
    let mut args = Args::new(44, 44);
    let bias = (0..44 * 44).map(|index| if index % 44 < 12 { f32::MIN } else { 0.0 });
    let bias = TensorData::new(bias.collect::<Vec<_>>(), [1, 1, 44, 44]);
    args.bias = Some(Tensor::from_data(bias, &cpu()));
    args.agree();
}

/// MASK-09: where a whole row is `f32::MIN` the weights are uniform, as in Burn (and in PyTorch on
/// a CPU).
#[test]
fn mask_09_a_row_of_f32_min_is_uniform() {
    let [q, k, v] = operands([1, 1, 3, 4], [1, 1, 3, 4]);
    let bias = vec![f32::MIN, f32::MIN, f32::MIN, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let bias = Tensor::from_data(TensorData::new(bias, [1, 1, 3, 3]), &cpu());
    let options = AttentionModuleOptions::default();
    let output = f64s(attention(q, k, v.clone(), None, Some(bias), options));
    let mean = f64s(v.mean_dim(2));
    for (output, mean) in output.iter().zip(&mean).take(4) {
        assert!(
            (output - mean).abs() <= 4.0 * f64::from(f32::EPSILON),
            "{output} is not {mean}"
        );
    }
}

/// MASK-10: a NaN in a key that is masked out reaches nothing; the score is replaced, not added to.
#[test]
fn mask_10_a_nan_in_a_masked_key_stays_there() {
    let [q, k, v] = operands([1, 1, 2, 4], [1, 1, 2, 4]);
    let poisoned = k.clone().slice_fill([0..1, 0..1, 1..2, 0..1], f32::NAN);
    let mask = Some(bools(vec![false, true, false, true], [1, 1, 2, 2]));
    let options = AttentionModuleOptions::default();
    let clean = attention(q.clone(), k, v.clone(), mask.clone(), None, options);
    assert_eq!(
        f64s(attention(q, poisoned, v, mask, None, options)),
        f64s(clean)
    );
}

/// MASK-11, MASK-12: a `[1, 1, ..]` or `[batch, 1, ..]` mask is that mask for every head.
#[test]
fn mask_11_a_broadcast_mask_reaches_every_head() {
    let [q, k, v] = operands([2, 3, 16, 32], [2, 3, 16, 32]);
    let options = AttentionModuleOptions::default();
    for shape in [[1, 1, 16, 16], [2, 1, 16, 16]] {
        let mask = crate::support::random_mask(shape, 3, 4);
        let whole = mask.clone().expand([2, 3, 16, 16]);
        let of = |mask| {
            f64s(attention(
                q.clone(),
                k.clone(),
                v.clone(),
                Some(mask),
                None,
                options,
            ))
        };
        assert_eq!(of(mask), of(whole));
    }
}

/// MASK-20, ACC-05: bias, causal mask and a length that fills no tile, together.
#[test]
fn mask_20_bias_and_causal_at_a_ragged_length_agree() {
    let mut args = Args::new(129, 129);
    args.bias = Some(noise([1, 3, 129, 129], 5, &cpu()) * 3.0);
    args.options.is_causal = true;
    args.agree();
}

/// EMPTY-12: the strides of axes of size 1 say nothing.
#[test]
fn empty_12_one_row_with_a_mask_agrees() {
    let mut args = Args::new(1, 1);
    args.mask = Some(bools(vec![false], [1, 1, 1, 1]));
    args.agree();
}

/// STRIDE-05: a bias cut out of a wider one is read by its strides.
#[test]
fn stride_05_a_sliced_bias_agrees() {
    let mut args = Args::new(77, 77);
    args.bias = Some(noise([2, 3, 77, 80], 5, &cpu()).slice([0..2, 0..3, 0..77, 0..77]));
    args.agree();
}

/// CAP-05: softcap after the mask would turn `-inf` into `-softcap` and leak the key.
#[test]
fn cap_05_the_first_causal_row_is_its_value() {
    let [q, k, v] = operands([1, 1, 5, 8], [1, 1, 5, 8]);
    let options = AttentionModuleOptions {
        softcap: Some(2.0),
        is_causal: true,
        scale: None,
    };
    let output = f64s(attention(q, k, v.clone(), None, None, options));
    assert_eq!(output[..8], f64s(v)[..8]);
}

/// EMPTY-06, EMPTY-07 with what only `attention` takes: nothing is computed, nothing panics.
#[test]
fn empty_operands_with_masks_give_empty_or_zero_outputs() {
    for (q, kv) in [
        ([0, 2, 3, 8], [0, 2, 5, 8]),
        ([2, 2, 3, 8], [2, 2, 0, 8]),
        ([2, 2, 0, 8], [2, 2, 5, 8]),
    ] {
        let [query, key, value] = operands(q, kv);
        let scores = [q[0], q[1], q[2], kv[2]];
        let bias = noise(scores, 1, &cpu());
        let mask = bias.clone().lower_elem(0.0);
        let options = AttentionModuleOptions {
            softcap: Some(1.0),
            is_causal: true,
            scale: None,
        };
        let output = try_attention(query, key, value, Some(mask), Some(bias), options);
        let output = output.expect("the shapes agree");
        assert_eq!(output.dims(), q);
        assert!(f64s(output).iter().all(|value| *value == 0.0));
    }
}
