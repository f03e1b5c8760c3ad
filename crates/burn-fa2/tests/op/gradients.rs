//! Gradients of O and LSE: against finite differences, and against Burn's autodiff of plain
//! operations.

use burn::tensor::{Bool, DType, Device, Tensor, activation::softmax};
use burn_fa2::{CausalAlignment, FlashAttentionOptions, Mask, flash_attention_with_lse};
use fa2_testing::Report;

use crate::support::{cpu, f64s, noise};

const CAUSAL: Mask = Mask::Causal(CausalAlignment::BottomRight);

/// Q, K and V of `[2, heads, rows, 8]` on `device`.
pub(crate) fn leaves(
    heads: [usize; 2],
    rows: [usize; 2],
    dtype: DType,
    device: &Device,
) -> [Tensor<4>; 3] {
    [(0, 1), (1, 2), (1, 3)].map(|(side, seed)| {
        noise([2, heads[side], rows[side], 8], seed, device)
            .cast(dtype)
            .require_grad()
    })
}

/// A sum over O and LSE in which every element has a weight of its own.
pub(crate) fn loss(o: Tensor<4>, lse: Option<Tensor<3>>) -> Tensor<1> {
    let weights = noise(o.dims(), 4, &cpu()).cast(o.dtype());
    let loss = (o * weights).sum();
    match lse {
        Some(lse) => loss + (lse.clone() * noise(lse.dims(), 5, &cpu()).cast(lse.dtype())).sum(),
        None => loss,
    }
}

pub(crate) fn gradients(loss: Tensor<1>, leaves: &[Tensor<4>; 3]) -> [Vec<f64>; 3] {
    let gradients = loss.backward();
    leaves.each_ref().map(|leaf| {
        f64s(
            leaf.grad(&gradients)
                .expect("a tracked leaf has a gradient"),
        )
    })
}

/// The same attention by operations that Burn differentiates itself.
fn plain(leaves: [Tensor<4>; 3], mask: Mask) -> (Tensor<4>, Tensor<3>) {
    let [q, k, v] = leaves;
    let ([batch, heads, seq_q, dim], [_, heads_kv, seq_k, _]) = (q.dims(), k.dims());
    let repeat = |kv: Tensor<4>| {
        kv.reshape([batch, heads_kv, 1, seq_k, dim])
            .repeat_dim(2, heads / heads_kv)
            .reshape([batch, heads, seq_k, dim])
    };
    let mut s = q.matmul(repeat(k).transpose()) / (dim as f64).sqrt();
    if let Mask::Causal(alignment) = mask {
        let diagonal = match alignment {
            CausalAlignment::BottomRight => seq_k as i64 - seq_q as i64,
            CausalAlignment::TopLeft => 0,
        };
        let hidden = Tensor::<2, Bool>::tril_mask([seq_q, seq_k], diagonal, &cpu());
        s = s.mask_fill(
            hidden
                .reshape([1, 1, seq_q, seq_k])
                .expand([batch, heads, seq_q, seq_k]),
            -1e30,
        );
    }
    let lse = s
        .clone()
        .exp()
        .sum_dim(3)
        .log()
        .reshape([batch, heads, seq_q]);
    (softmax(s, 3).matmul(repeat(v)), lse)
}

/// Ours in f32 against the plain operations in f64, with the plain operations in f32 as the
/// yardstick.
#[track_caller]
fn agree(heads: [usize; 2], rows: [usize; 2], mask: Mask, with_lse: bool, device: &Device) {
    let of = |dtype, ours: bool| {
        let leaves = leaves(heads, rows, dtype, device);
        let (o, lse) = match ours {
            true => {
                let [q, k, v] = leaves.clone();
                flash_attention_with_lse(q, k, v, FlashAttentionOptions::default().with_mask(mask))
            }
            false => plain(leaves.clone(), mask),
        };
        gradients(loss(o, with_lse.then_some(lse)), &leaves)
    };
    let (reference, yardstick, actual) = (
        of(DType::F64, false),
        of(DType::F32, false),
        of(DType::F32, true),
    );
    for (name, index) in [("dQ", 0), ("dK", 1), ("dV", 2)] {
        let largest = reference[index]
            .iter()
            .fold(0.0_f64, |max, value| max.max(value.abs()));
        assert!(largest > 0.0, "{name} is tested");
        // A gradient is a sum over rows of sums over columns.
        let terms = (heads[0] / heads[1] * rows[0] + rows[1] + 8) as f64;
        let noise = f64::from(f32::EPSILON) * (1.0 + terms.sqrt()) * largest;
        let report = Report::new(&actual[index], &yardstick[index], &reference[index], noise);
        assert!(report.passed, "{name}: {report}");
    }
}

#[test]
fn gradients_equal_those_of_plain_operations() {
    let device = cpu().autodiff();
    for mask in [Mask::None, CAUSAL, Mask::Causal(CausalAlignment::TopLeft)] {
        for rows in [[7, 7], [5, 9], [2, 9]] {
            agree([3, 3], rows, mask, false, &device);
            agree([3, 3], rows, mask, true, &device);
        }
    }
}

/// API-02: the gradient of a shared key head is the sum over its query heads.
#[test]
fn gradients_of_grouped_heads_equal_those_of_repeated_ones() {
    let device = cpu().autodiff();
    for heads in [[4, 2], [4, 1]] {
        agree(heads, [7, 7], CAUSAL, true, &device);
        agree(heads, [5, 9], Mask::None, true, &device);
    }
}

#[test]
fn gradients_survive_gradient_checkpointing() {
    agree(
        [4, 2],
        [7, 7],
        CAUSAL,
        true,
        &cpu().autodiff().gradient_checkpointing(),
    );
}

/// With memory-bound producers and consumers, which checkpointing recomputes.
#[test]
fn checkpointing_recomputes_the_operands() {
    let of = |device: &Device| {
        let leaves = leaves([2, 2], [6, 6], DType::F32, device);
        let [q, k, v] = leaves.clone().map(|leaf| (leaf * 1.5).exp());
        let (o, lse) = flash_attention_with_lse(q, k, v, FlashAttentionOptions::causal());
        gradients(loss(o.clone() * o, Some(lse.exp())), &leaves)
    };
    assert_eq!(
        of(&cpu().autodiff().gradient_checkpointing()),
        of(&cpu().autodiff())
    );
}

/// The derivative along a direction, by differences of two widths; their disagreement bounds the
/// error.
#[test]
fn gradients_equal_finite_differences() {
    let options = FlashAttentionOptions::causal().with_scale(0.4);
    let of = |[q, k, v]: [Tensor<4>; 3]| {
        let (o, lse) = flash_attention_with_lse(q, k, v, options);
        loss(o, Some(lse))
    };
    let device = cpu().autodiff();
    let leaves = leaves([4, 2], [5, 7], DType::F64, &device);
    let analytic = gradients(of(leaves.clone()), &leaves);

    for (index, gradient) in analytic.iter().enumerate() {
        let direction = noise(leaves[index].dims(), 6, &cpu()).cast(DType::F64);
        let at = |step: f64| {
            let mut moved = leaves.clone().map(Tensor::without_autodiff);
            moved[index] = moved[index].clone() + direction.clone() * step;
            of(moved).into_scalar::<f64>()
        };
        let slope = |step: f64| (at(step) - at(-step)) / (2.0 * step);
        let (coarse, fine) = (slope(1e-4), slope(5e-5));
        let expected: f64 = gradient
            .iter()
            .zip(f64s(direction.clone()))
            .map(|(g, d)| g * d)
            .sum();
        // The error of `fine` is a third of its distance to `coarse`, plus the rounding of the
        // difference.
        let bound = (coarse - fine).abs() + 64.0 * f64::EPSILON * at(0.0).abs().max(1.0) / 5e-5;
        assert!(
            (expected - fine).abs() <= bound,
            "operand {index}: {expected} is not {fine} +- {bound}"
        );
        assert!(
            bound < 1e-4 * expected.abs(),
            "the difference is too coarse to show anything"
        );
    }
}
