//! Burn's operations around the op and its gradient: under fusion they wait in a queue of their own.

use super::{CASE, SEED};
use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::gradients::bits_of;
use crate::suite::passes::operands;
use crate::suite::tally::Tally;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_fa2::{FlashAttentionOptions, flash_attention};
use half::f16;

/// Steps of the forward pass. The op costs more host time than its kernels alone.
const STEPS: u16 = 3_000;
/// Steps of both passes.
const GRADIENT_STEPS: u16 = 1_000;

/// Checks `engine`.
pub(super) fn check(args: &SuiteArgs, engine: EngineArg, tally: &mut Tally) {
    let device = Device::cuda(args.device());
    let name = engine.name();
    tally.record(
        format!("{CASE} [op on {name}, {STEPS} steps]"),
        matches_waiting(|waits| outputs(&device, engine, waits)),
    );
    tally.record(
        format!("{CASE} [op's gradients on {name}, {GRADIENT_STEPS} steps]"),
        matches_waiting(|waits| gradients(&device, engine, waits)),
    );
}

/// What the steps of a run give.
type Tensors = Vec<Tensor<4>>;

fn matches_waiting(run: impl Fn(bool) -> Result<Tensors, String>) -> Result<(), String> {
    let bits = |waits| -> Result<Vec<_>, String> { run(waits)?.into_iter().map(bits_of).collect() };
    let (expected, found) = (bits(true)?, bits(false)?);
    match found.iter().zip(&expected).filter(|(a, b)| a != b).count() {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of {} tensors differ", expected.len())),
    }
}

fn outputs(device: &Device, engine: EngineArg, waits: bool) -> Result<Tensors, String> {
    let [q, k, v, _] = tensors(device);
    let options = FlashAttentionOptions::causal().with_strategy(engine.strategy());
    let mut outputs = Tensors::new();
    for step in 0..STEPS {
        let q = scaled(&q, step);
        outputs.push(flash_attention(q, k.clone(), v.clone(), options) * 3.0);
        wait(device, waits)?;
    }
    Ok(outputs)
}

fn gradients(device: &Device, engine: EngineArg, waits: bool) -> Result<Tensors, String> {
    let device = device.clone().autodiff();
    let [q, k, v, d_o] = tensors(&device);
    let options = FlashAttentionOptions::causal()
        .with_strategy(engine.strategy())
        .with_deterministic(true);
    let mut outputs = Tensors::new();
    for step in 0..GRADIENT_STEPS {
        let leaves = [scaled(&q, step), k.clone(), v.clone()].map(Tensor::require_grad);
        let [q, k, v] = leaves.clone();
        let gradients = (flash_attention(q, k, v, options) * d_o.clone())
            .sum()
            .backward();
        for leaf in leaves {
            outputs.push(leaf.grad(&gradients).ok_or("a leaf has no gradient")?);
        }
        wait(&device, waits)?;
    }
    Ok(outputs)
}

/// One rounding an element, so that how Burn merges its operations can't show.
fn scaled(q: &Tensor<4>, step: u16) -> Tensor<4> {
    q.clone() * (1.0 + f64::from(step % 64) / 64.0)
}

fn wait(device: &Device, waits: bool) -> Result<(), String> {
    match waits {
        true => device.sync().map_err(|error| format!("{error:?}")),
        false => Ok(()),
    }
}

/// Q, K, V and dO.
fn tensors(device: &Device) -> [Tensor<4>; 4] {
    operands(&CASE, SEED).map(|values: Vec<f16>| {
        let data = TensorData::new(values, CASE.shape_q());
        Tensor::<4>::from_data(data, (device, DType::F16))
    })
}
