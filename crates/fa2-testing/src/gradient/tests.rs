//! The gradients against finite differences of the f64 forward pass, and by hand.

use half::f16;

use super::*;
use crate::{case::Causal, inputs, oracle, tolerance::largest_error};

/// Step of a difference; the values are multiples of it, so that both sides are exact in f32.
const STEP: f32 = 1.0 / 1024.0;
/// The error of a central difference is `STEP^2 / 6` times the third derivative, which stays below
/// about 50 for the small values here.
const DIFFERENCE_ERROR: f64 = 1e-5;

/// Values without structure in (-1, 1), multiples of 1/64.
fn noise(len: usize, phase: f64) -> Vec<f32> {
    (0..len)
        .map(|i| ((i as f64 * 1.7 + phase).sin() * 64.0).round() as f32 / 64.0)
        .collect()
}

fn operands(case: &Case) -> Operands<f32> {
    let (q, kv) = (
        case.shape_q().iter().product::<usize>(),
        case.shape_kv().iter().product(),
    );
    Operands {
        q: noise(q, 0.1),
        k: noise(kv, 0.2),
        v: noise(kv, 0.3),
        d_o: noise(q, 0.4),
        d_lse: Some(noise(q / case.head_dim, 0.5)),
    }
}

/// `sum dO * O + sum dLSE * LSE`; a row without keys has no LSE.
fn loss(case: &Case, operands: &Operands<f32>) -> f64 {
    let forward = oracle::attention(case, &operands.q, &operands.k, &operands.v);
    let dot = |a: &[f32], b: &[f64]| -> f64 {
        let finite = a.iter().zip(b).filter(|(_, b)| b.is_finite());
        finite.map(|(a, b)| f64::from(*a) * b).sum()
    };
    let d_lse = operands.d_lse.as_deref().unwrap_or_default();
    dot(&operands.d_o, &forward.output) + dot(d_lse, &forward.lse)
}

/// The derivative of the loss by each element of one operand.
fn differences(
    case: &Case,
    operands: &Operands<f32>,
    pick: fn(&mut Operands<f32>) -> &mut Vec<f32>,
) -> Vec<f64> {
    let mut moved = operands.clone();
    (0..pick(&mut moved).len())
        .map(|index| {
            let mut at = |step: f32| {
                pick(&mut moved)[index] += step;
                let loss = loss(case, &moved);
                pick(&mut moved)[index] -= step;
                loss
            };
            (at(STEP) - at(-STEP)) / (2.0 * f64::from(STEP))
        })
        .collect()
}

fn agrees_with_differences(case: Case) {
    let operands = operands(&case);
    let found = gradients(&case, &operands);
    for (name, found, expected) in [
        (
            "dQ",
            &found.d_q,
            differences(&case, &operands, |o| &mut o.q),
        ),
        (
            "dK",
            &found.d_k,
            differences(&case, &operands, |o| &mut o.k),
        ),
        (
            "dV",
            &found.d_v,
            differences(&case, &operands, |o| &mut o.v),
        ),
    ] {
        let error = largest_error(found, &expected);
        assert!(error < DIFFERENCE_ERROR, "{case}, {name}: {error}");
        assert!(
            found.iter().any(|value| value.abs() > 0.01),
            "{case}, {name}"
        );
    }
}

#[test]
fn agree_with_finite_differences() {
    let case = Case::new("differences", 1, 2, 5, 4);
    agrees_with_differences(case);
    agrees_with_differences(case.keys(9).causal(Causal::BottomRight));
    agrees_with_differences(case.keys(9).causal(Causal::TopLeft));
    // The first two rows see no key.
    agrees_with_differences(case.keys(3).causal(Causal::BottomRight));
    agrees_with_differences(Case::new("grouped", 2, 4, 3, 4).kv_heads(2).scaled(0.8));
}

#[test]
fn one_key_gives_its_value_all_of_the_gradient() {
    // P = 1, so O = V whatever Q and K are.
    let case = Case::new("one-key", 1, 1, 3, 2).keys(1);
    let operands = Operands {
        d_lse: None,
        ..operands(&case)
    };
    let found = gradients(&case, &operands);
    let sum = |c: usize| {
        (0..3)
            .map(|row| f64::from(operands.d_o[2 * row + c]))
            .sum::<f64>()
    };
    assert!(largest_error(&found.d_v, &[sum(0), sum(1)]) < 1e-12);
    assert!(largest_error(&found.d_q, &[0.0; 6]) < 1e-12);
    assert!(largest_error(&found.d_k, &[0.0; 2]) < 1e-12);
}

#[test]
fn nothing_seen_gives_zero() {
    let case = Case::new("no-key", 1, 2, 3, 4).keys(0);
    let found = gradients(&case, &operands(&case));
    assert_eq!(found.d_q, vec![0.0; 24]);
    assert!(found.d_k.is_empty() && found.d_v.is_empty());
}

#[test]
fn rounding_the_reference_passes_and_a_wrong_element_fails() {
    let case = Case::new("judge", 1, 2, 33, 32).causal(Causal::BottomRight);
    let qkv = inputs::generate::<f16>(&case, 3);
    let d_o = inputs::generate::<f16>(&case, 4).q.logical();
    let expected = ExpectedGradients::new(&case, &Operands::new(&qkv, d_o, None));
    let round = |values: &[f64]| -> Vec<f16> { values.iter().map(|x| f16::from_f64(*x)).collect() };
    let Gradients { d_q, d_k, d_v } = &expected.reference;
    let [d_q, d_k, d_v] = [round(d_q), round(d_k), round(d_v)];
    assert_eq!(expected.judge(&d_q, &d_k, &d_v), Ok(()));
    let mut wrong = d_k.clone();
    wrong[40] += f16::from_f32(0.25);
    let verdict = expected.judge(&d_q, &wrong, &d_v);
    assert!(verdict.is_err_and(|error| error.starts_with("dK ")));
}

#[test]
fn the_yardstick_is_shorter_than_the_gradients_are_long() {
    let case = Case::new("yardstick", 1, 2, 97, 64);
    let qkv = inputs::generate::<f16>(&case, 5);
    let d_o = inputs::generate::<f16>(&case, 6).q.logical();
    let expected = ExpectedGradients::new(&case, &Operands::new(&qkv, d_o, None));
    let [d_q, d_k, d_v] = [
        &expected.reference.d_q,
        &expected.reference.d_k,
        &expected.reference.d_v,
    ]
    .map(|values| {
        values
            .iter()
            .map(|value| f16::from_f64(*value))
            .collect::<Vec<_>>()
    });
    let zeros = vec![f16::ZERO; d_q.len()];
    for report in expected.reports(&zeros, &zeros, &zeros) {
        assert!(
            !report.passed && report.bound < report.max_error / 50.0,
            "{report}"
        );
    }
    assert_eq!(expected.judge(&d_q, &d_k, &d_v), Ok(()));
}
