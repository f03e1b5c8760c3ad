//! Gradients through the op where q, k, v or dO are views, or only some of them are tracked: they must
//! have the bits that copies give, and those, or nearly those, that all of them together have.
//!
//! Deterministic, so that dQ has bits to compare. Replays STRIDE-01, STRIDE-02 and STRIDE-07.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::gradients::bits_of;
use crate::suite::tally::Tally;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_fa2::{FlashAttentionOptions, flash_attention};
use fa2_cubecl::QuerySums;
use fa2_testing::{Case, inputs};
use half::f16;

const CASE: Case = Case::new("strides", 2, 4, 193, 64).kv_heads(2);
const SEED: u64 = 40;

/// How a tensor lies in memory.
#[derive(Clone, Copy)]
enum Layout {
    /// `[batch, heads, seq, head_dim]`.
    Plain,
    /// `[batch, seq, heads, head_dim]`, axes swapped.
    Swapped,
    /// The first columns of rows twice as long.
    Sparse,
    /// `[batch, heads, head_dim, seq]`, axes swapped: columns are not adjacent.
    Transposed,
}

/// What computes.
struct Place {
    device: Device,
    engine: EngineArg,
}

/// Checks every layout of every operand, and the dO of a plain sum.
pub fn check(args: &SuiteArgs, tally: &mut Tally) {
    if !args.selects(&CASE) {
        return;
    }
    // The CuTe kernels have no backward of their own.
    for engine in args.engines().filter(|engine| *engine != EngineArg::Cute) {
        check_engine(args, engine, tally);
    }
}

fn check_engine(args: &SuiteArgs, engine: EngineArg, tally: &mut Tally) {
    use Layout::{Plain, Sparse, Swapped, Transposed};
    let place = Place {
        device: Device::cuda(args.device()).autodiff(),
        engine,
    };
    let name = engine.name();
    let plain = gradients([Plain; 4], &place);
    for (what, layouts) in [
        ("STRIDE-01: dO swapped", [Plain, Plain, Plain, Swapped]),
        ("dO transposed", [Plain, Plain, Plain, Transposed]),
        (
            "STRIDE-07: v and dO swapped",
            [Plain, Plain, Swapped, Swapped],
        ),
        ("q, k and v swapped", [Swapped, Swapped, Swapped, Plain]),
        (
            "q, k and v transposed",
            [Transposed, Transposed, Transposed, Plain],
        ),
        ("all sparse", [Sparse; 4]),
    ] {
        let result = plain
            .clone()
            .and_then(|plain| match gradients(layouts, &place)? == plain {
                true => Ok(()),
                false => Err("other bits than copies give".to_owned()),
            });
        tally.record(format!("{CASE} [op's gradients on {name}, {what}]"), result);
    }
    for tracked in [
        [true, false, false],
        [false, true, false],
        [false, false, true],
        [true, true, false],
        [false, true, true],
    ] {
        let result = plain
            .clone()
            .and_then(|plain| some_gradients(tracked, &plain, &place));
        tally.record(
            format!("{CASE} [op's gradients on {name} of {tracked:?}]"),
            result,
        );
    }
    tally.record(
        format!("{CASE} [op's gradients on {name}, STRIDE-02: sum()]"),
        sum_is_ones(&place),
    );
}

/// Bits of dQ, dK and dV for operands q, k, v and dO in these layouts.
fn gradients(layouts: [Layout; 4], place: &Place) -> Result<[Vec<u16>; 3], String> {
    let [q, k, v, d_o] = operands(layouts, &place.device);
    let [q, k, v] = [q, k, v].map(Tensor::require_grad);
    let o = attention([&q, &k, &v], place);
    // Multiplied as it lies in memory, so that the way back to O gives a view of that layout.
    let as_stored = |tensor: Tensor<4>| match layouts[3] {
        Layout::Plain | Layout::Sparse => tensor,
        Layout::Swapped => tensor.swap_dims(1, 2),
        Layout::Transposed => tensor.swap_dims(2, 3),
    };
    bits([&q, &k, &v], (as_stored(o) * as_stored(d_o)).sum())
}

/// Only the `tracked` ones of q, k and v ask for a gradient, which must be the one of `all`: bit for bit, or where
/// key blocks add to dQ in order, and visit the queries in another order without it, but for the rounding of sums.
fn some_gradients(tracked: [bool; 3], all: &[Vec<u16>; 3], place: &Place) -> Result<(), String> {
    let [wants_q, wants_k, wants_v] = tracked;
    // With dQ and one of the others, the kernels are those of all gradients.
    let is_other_kernel = place.engine.deterministic_sums() == QuerySums::Ordered
        && !(wants_q && (wants_k || wants_v));
    let [q, k, v, d_o] = operands([Layout::Plain; 4], &place.device);
    let mut leaves = [q, k, v];
    for (leaf, tracked) in leaves.iter_mut().zip(tracked) {
        if tracked {
            *leaf = leaf.clone().require_grad();
        }
    }
    let o = attention(leaves.each_ref(), place);
    let gradients = (o * d_o).sum().backward();
    for ((leaf, tracked), all) in leaves.iter().zip(tracked).zip(all) {
        match (leaf.grad(&gradients), tracked) {
            (None, false) => {}
            (Some(gradient), true) => {
                let found = bits_of(gradient)?;
                if !is_other_kernel && found != *all {
                    return Err("other bits than all gradients together have".into());
                }
                if !are_close(&found, all) {
                    return Err("other values than all gradients together have".into());
                }
            }
            (None, true) => return Err("a tracked operand has no gradient".into()),
            (Some(_), false) => return Err("an untracked operand has a gradient".into()),
        }
    }
    Ok(())
}

/// Whether no two differ by more than two steps of f16 at the largest value: sums in f32 that are rounded last.
fn are_close(found: &[u16], expected: &[u16]) -> bool {
    let value = |&bits: &u16| f16::from_bits(bits).to_f32();
    let largest = expected.iter().map(value).map(f32::abs).fold(0.0, f32::max);
    let limit = 2.0 * f16::EPSILON.to_f32() * largest;
    let differences = found.iter().zip(expected);
    found.len() == expected.len()
        && differences
            .map(|(a, b)| (value(a) - value(b)).abs())
            .all(|difference| difference <= limit)
}

/// `sum().backward()` gives a dO that repeats one element, with strides of 0.
fn sum_is_ones(place: &Place) -> Result<(), String> {
    let of = |sum: &dyn Fn(Tensor<4>) -> Tensor<1>| {
        let [q, k, v, _] = operands([Layout::Plain; 4], &place.device);
        let [q, k, v] = [q, k, v].map(Tensor::require_grad);
        let o = attention([&q, &k, &v], place);
        bits([&q, &k, &v], sum(o))
    };
    let ones = |o: Tensor<4>| (o.clone() * o.ones_like()).sum();
    match of(&|o| o.sum())? == of(&ones)? {
        true => Ok(()),
        false => Err("other bits than a dO of ones gives".into()),
    }
}

fn attention([q, k, v]: [&Tensor<4>; 3], place: &Place) -> Tensor<4> {
    let options = FlashAttentionOptions::causal()
        .with_strategy(place.engine.strategy())
        .with_deterministic(true);
    flash_attention(q.clone(), k.clone(), v.clone(), options)
}

fn bits(leaves: [&Tensor<4>; 3], loss: Tensor<1>) -> Result<[Vec<u16>; 3], String> {
    let gradients = loss.backward();
    let mut bits = [Vec::new(), Vec::new(), Vec::new()];
    for (bits, leaf) in bits.iter_mut().zip(leaves) {
        let gradient = leaf.grad(&gradients).ok_or("a leaf has no gradient")?;
        *bits = bits_of(gradient)?;
    }
    Ok(bits)
}

/// q, k, v and dO: the same values in any layout.
fn operands(layouts: [Layout; 4], device: &Device) -> [Tensor<4>; 4] {
    let [q, k, v] = inputs::generate::<f16>(&CASE, SEED).logical();
    let [d_o, ..] = inputs::generate::<f16>(&CASE, SEED + 1).logical();
    let (shape_q, shape_kv) = (CASE.shape_q(), CASE.shape_kv());
    let [at_q, at_k, at_v, at_d_o] = layouts;
    [
        laid_out(q, shape_q, at_q, device),
        laid_out(k, shape_kv, at_k, device),
        laid_out(v, shape_kv, at_v, device),
        laid_out(d_o, shape_q, at_d_o, device),
    ]
}

fn laid_out(values: Vec<f16>, shape: [usize; 4], layout: Layout, device: &Device) -> Tensor<4> {
    let [batch, heads, seq, dim] = shape;
    let at = |b: usize, h: usize, s: usize, d: usize| ((b * heads + h) * seq + s) * dim + d;
    let permuted = |sizes: [usize; 4], from: &dyn Fn([usize; 4]) -> usize| {
        let index = |mut flat: usize| {
            let mut place = [0; 4];
            for axis in (0..4).rev() {
                place[axis] = flat % sizes[axis];
                flat /= sizes[axis];
            }
            values[from(place)]
        };
        let data: Vec<f16> = (0..sizes.iter().product()).map(index).collect();
        Tensor::<4>::from_data(TensorData::new(data, sizes), (device, DType::F16))
    };
    match layout {
        Layout::Plain => permuted(shape, &|[b, h, s, d]| at(b, h, s, d)),
        Layout::Swapped => {
            permuted([batch, seq, heads, dim], &|[b, s, h, d]| at(b, h, s, d)).swap_dims(1, 2)
        }
        Layout::Transposed => {
            permuted([batch, heads, dim, seq], &|[b, h, d, s]| at(b, h, s, d)).swap_dims(2, 3)
        }
        Layout::Sparse => {
            let doubled = permuted([batch, heads, seq, 2 * dim], &|[b, h, s, d]| {
                at(b, h, s, d % dim)
            });
            doubled.slice([0..batch, 0..heads, 0..seq, 0..dim])
        }
    }
}
