//! The op's gradients bit for bit: from several threads, and on every device.

use crate::suite::SuiteArgs;
use crate::suite::op::options;
use crate::suite::passes::operands;
use crate::suite::tally::Tally;
use crate::suite::threads::{CALLS, THREADS, agree};
use burn::tensor::{DType, Device, DeviceType, Tensor, TensorData};
use burn_fa2::{FlashAttentionOptions, try_flash_attention};
use fa2_testing::{Case, Causal};
use half::f16;

const CASE: Case = Case::new("gradients", 2, 8, 333, 64)
    .kv_heads(2)
    .causal(Causal::BottomRight);
const SEED: u64 = 24;

/// Bits of O, dQ, dK and dV.
pub type Bits = [Vec<u16>; 4];

/// Checks every engine, with a dQ that has bits to compare.
pub fn check(args: &SuiteArgs, tally: &mut Tally) {
    if !args.selects(&CASE) {
        return;
    }
    let values = operands(&CASE, SEED);
    let device = Device::cuda(args.device());
    let devices = Device::enumerate(DeviceType::Cuda).into_vec();
    for engine in args.engines() {
        let options = options(&CASE, engine.strategy()).with_deterministic(true);
        let on = |device: &Device| bits(&CASE, &values, device, options);
        let name = engine.name();
        tally.record(
            format!("{CASE} [op's gradients on {name}, {THREADS} threads x {CALLS} calls]"),
            agree(|| on(&device)),
        );
        tally.record(
            format!(
                "{CASE} [op's gradients on {name}, {} devices in turn]",
                devices.len()
            ),
            in_turn(&devices, on),
        );
    }
}

/// Every device, twice, must give what the first gives.
fn in_turn(devices: &[Device], on: impl Fn(&Device) -> Result<Bits, String>) -> Result<(), String> {
    let mut results = devices.iter().chain(devices).map(on);
    let first = results.next().ok_or("no device")??;
    for result in results {
        if result? != first {
            return Err("another device gave other bits".to_owned());
        }
    }
    Ok(())
}

/// O, and the gradients of `sum(dO * O)`, of Q, K, V and dO in contiguous order.
///
/// # Errors
/// The op's, or the device's, as text.
pub fn bits(
    case: &Case,
    values: &[Vec<f16>; 4],
    device: &Device,
    options: FlashAttentionOptions,
) -> Result<Bits, String> {
    let device = device.clone().autodiff();
    let (shape_q, shape_kv) = (case.shape_q(), case.shape_kv());
    let tensor = |values: &Vec<f16>, shape: [usize; 4]| {
        Tensor::<4>::from_data(
            TensorData::new(values.clone(), shape),
            (&device, DType::F16),
        )
    };
    let [q, k, v, d_o] = values;
    let leaves = [tensor(q, shape_q), tensor(k, shape_kv), tensor(v, shape_kv)];
    let leaves = leaves.map(Tensor::require_grad);
    let [q, k, v] = leaves.clone();
    let o = try_flash_attention(q, k, v, options).map_err(|error| error.to_string())?;
    let gradients = (o.clone() * tensor(d_o, shape_q)).sum().backward();
    let mut bits = Bits::default();
    bits[0] = bits_of(o)?;
    for (bits, leaf) in bits[1..].iter_mut().zip(&leaves) {
        *bits = bits_of(leaf.grad(&gradients).ok_or("a leaf has no gradient")?)?;
    }
    Ok(bits)
}

/// The bits of an f16 tensor in contiguous order.
///
/// # Errors
/// The device's, as text.
pub fn bits_of(tensor: Tensor<4>) -> Result<Vec<u16>, String> {
    let values = tensor.into_data().try_to_vec::<f16>();
    let values = values.map_err(|error| format!("{error:?}"))?;
    Ok(values.into_iter().map(f16::to_bits).collect())
}
