//! What the op decides by itself: which kernel `Strategy::Auto` takes, and which operands it copies first.

use crate::engine::{EngineArg, is_there};
use crate::suite::SuiteArgs;
use crate::suite::tally::Tally;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_fa2::{FlashAttentionOptions, Strategy, try_flash_attention};
use fa2_testing::{Case, inputs};
use half::f16;

const CASE: Case = Case::new("choice", 2, 4, 333, 64).kv_heads(2);
const SEED: u64 = 23;

/// Compares bits: those of `Auto` with those of the engine it should take, and those of keys and values that
/// are repeated by a stride of 0 with those of copies.
pub fn check(args: &SuiteArgs, tally: &mut Tally) {
    if !args.selects(&CASE) {
        return;
    }
    let device = Device::cuda(args.device());
    let engine = match is_there(EngineArg::Hopper, args.sm) {
        true => EngineArg::Hopper,
        false => EngineArg::Cubecl,
    };
    tally.record(
        format!("{CASE} [op, Auto is {}]", engine.name()),
        same(
            || output(Strategy::Auto, operands(&device)),
            || output(engine.strategy(), operands(&device)),
        ),
    );
    for engine in args.engines() {
        let of = |repeat: fn(Tensor<4>) -> Tensor<4>| {
            let [q, k, v] = operands(&device);
            output(engine.strategy(), [q, repeat(k), repeat(v)])
        };
        tally.record(
            format!("{CASE} [op on {}, keys repeated by strides]", engine.name()),
            same(
                || of(|keys| first(keys).expand(CASE.shape_kv())),
                || of(|keys| first(keys).repeat_dim(0, CASE.batch)),
            ),
        );
    }
}

/// The first batch entry.
fn first(keys: Tensor<4>) -> Tensor<4> {
    keys.narrow(0, 0, 1)
}

fn operands(device: &Device) -> [Tensor<4>; 3] {
    let [q, k, v] = inputs::generate::<f16>(&CASE, SEED).logical();
    let tensor = |values: Vec<f16>, shape: [usize; 4]| {
        Tensor::<4>::from_data(TensorData::new(values, shape), (device, DType::F16))
    };
    let kv = CASE.shape_kv();
    [tensor(q, CASE.shape_q()), tensor(k, kv), tensor(v, kv)]
}

fn output(strategy: Strategy, [q, k, v]: [Tensor<4>; 3]) -> Result<Vec<u16>, String> {
    let options = FlashAttentionOptions::causal().with_strategy(strategy);
    let o = try_flash_attention(q, k, v, options).map_err(|error| error.to_string())?;
    let values = o.into_data().try_to_vec::<f16>();
    let values = values.map_err(|error| format!("{error:?}"))?;
    Ok(values.into_iter().map(f16::to_bits).collect())
}

fn same(
    one: impl FnOnce() -> Result<Vec<u16>, String>,
    other: impl FnOnce() -> Result<Vec<u16>, String>,
) -> Result<(), String> {
    match one()? == other()? {
        true => Ok(()),
        false => Err("other bits".to_owned()),
    }
}
