//! Every case of the grid against the f64 oracle.

use burn::tensor::Element as BurnElement;
use burn_fa2::{flash_attention, flash_attention_with_lse};
use fa2_testing::{CASES, Case, Element, Expected, REPLAY, inputs, poison};
use half::{bf16, f16};

use crate::support::{cpu, options, tensors, values};

/// What two slow cores do in a second, oracle included; the GPU suite runs the rest.
const MAX_PRODUCTS: usize = 1 << 30;

fn affordable(limit: usize) -> impl Iterator<Item = &'static Case> {
    CASES
        .iter()
        .chain(REPLAY)
        .filter(move |case| case.products() <= limit)
}

fn conforms<E: Element + BurnElement>(case: &Case) {
    let qkv = inputs::generate::<E>(case, 17);
    let expected = Expected::of(case, &qkv);

    let [q, k, v] = tensors(case, &qkv, &cpu());
    let (output, lse) = flash_attention_with_lse(q, k, v, options(case));
    assert_eq!(output.dims(), case.shape_q(), "{case}");
    assert_eq!(lse.dims(), [case.batch, case.heads_q, case.seq_q], "{case}");

    let (output, lse) = (values::<E, 4>(output), values::<f32, 3>(lse));
    assert_eq!(poison::first_unwritten(&output), None, "{case}");
    let report = expected.output(&output);
    assert!(report.passed, "O in {} of {case}: {report}", E::NAME);
    let report = expected.lse(&lse);
    assert!(report.passed, "LSE in {} of {case}: {report}", E::NAME);
}

#[test]
fn f32_equals_the_oracle_on_the_grid_and_the_replays() {
    let cases: Vec<_> = affordable(MAX_PRODUCTS).collect();
    // Only the longest cases and those with the most heads may be left out.
    assert!(
        cases.len() * 10 > (CASES.len() + REPLAY.len()) * 9,
        "{} cases",
        cases.len()
    );
    cases.into_iter().for_each(conforms::<f32>);
}

#[test]
fn f16_equals_the_oracle() {
    affordable(MAX_PRODUCTS / 64).for_each(conforms::<f16>);
}

#[test]
fn bf16_equals_the_oracle() {
    affordable(MAX_PRODUCTS / 64).for_each(conforms::<bf16>);
}

#[test]
fn one_key_gives_its_value_exactly() {
    let case = Case::new("one-key", 2, 3, 5, 16).keys(1);
    let qkv = inputs::generate::<f32>(&case, 5);
    let [q, k, v] = tensors(&case, &qkv, &cpu());
    let output = values::<f32, 4>(flash_attention(q, k, v, options(&case)));
    let [_, _, v] = qkv.logical();
    for (rows, value) in output.chunks(5 * 16).zip(v.chunks(16)) {
        assert!(rows.chunks(16).all(|row| row == value));
    }
}

#[test]
fn a_planted_error_of_one_percent_is_caught() {
    let case = Case::new("planted", 1, 2, 33, 64);
    let qkv = inputs::generate::<f16>(&case, 5);
    let expected = Expected::of(&case, &qkv);
    let [q, k, v] = tensors(&case, &qkv, &cpu());
    let wrong = options(&case).with_scale(1.01 * case.scale_value());
    let output = values::<f16, 4>(flash_attention(q, k, v, wrong));
    assert!(!expected.output(&output).passed);
}
