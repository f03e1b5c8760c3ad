//! The op on a CUDA device: every case through Burn's tensors, from several threads, and its
//! gradient.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::tally::Tally;
use crate::suite::threads::{CALLS, THREADS, agree};
use burn::tensor::{Device, DeviceType, Element as BurnElement, Tensor, TensorData};
use burn_fa2::{
    CausalAlignment, FlashAttentionOptions, Mask, Strategy, try_flash_attention_with_lse,
};
use fa2_machine::KernelElement;
use fa2_testing::{CASES, Case, Causal, Expected, Qkv, REPLAY, Storage, Stored, inputs};
use half::f16;

const SEED: u64 = 21;

/// Runs every case, the empty and the unaligned ones too, through the op.
pub fn check<E: KernelElement + BurnElement>(args: &SuiteArgs, tally: &mut Tally) {
    let device = Device::cuda(args.device());
    for case in CASES.iter().chain(REPLAY).filter(|case| args.selects(case)) {
        let qkv = inputs::generate::<E>(case, SEED);
        let expected = Expected::of(case, &qkv);
        for engine in args.engines() {
            let result = run(case, &qkv, &device, engine)
                .and_then(|(output, lse)| expected.judge(&output, &lse));
            let dtype = <E as fa2_testing::Element>::NAME;
            tally.record(format!("{dtype} {case} [op on {}]", engine.name()), result);
        }
    }
}

/// Runs one case from several threads at once; all must give the bits that one thread gives.
pub fn check_threads(args: &SuiteArgs, tally: &mut Tally) {
    let device = Device::cuda(args.device());
    let case = Case::new("threads", 2, 8, 333, 64)
        .kv_heads(2)
        .causal(Causal::BottomRight);
    let qkv = inputs::generate::<f16>(&case, SEED);
    for engine in args.engines() {
        let name = engine.name();
        tally.record(
            format!("{case} [op on {name}, {THREADS} threads x {CALLS} calls]"),
            agree(|| run::<f16>(&case, &qkv, &device, engine)),
        );
    }
}

/// Calls on every CUDA device in turn, from one thread: each must give the bits of the first
/// (replays DEV-01, DEV-02).
pub fn check_devices(args: &SuiteArgs, tally: &mut Tally) {
    let devices: Vec<Device> = Device::enumerate(DeviceType::Cuda).into_vec();
    let case = Case::new("devices", 2, 8, 333, 64).causal(Causal::BottomRight);
    if !args.selects(&case) {
        return;
    }
    let qkv = inputs::generate::<f16>(&case, SEED);
    for engine in args.engines() {
        let results: Vec<_> = devices
            .iter()
            .chain(&devices)
            .map(|device| run::<f16>(&case, &qkv, device, engine))
            .collect();
        let result = results.iter().try_for_each(|result| match result {
            Err(error) => Err(error.clone()),
            Ok(_) if *result == results[0] => Ok(()),
            Ok(_) => Err("another device gave other bits".to_owned()),
        });
        let (name, count) = (engine.name(), devices.len());
        tally.record(
            format!("{case} [op on {name}, {count} devices in turn]"),
            result,
        );
    }
}

/// O and LSE of the op, forced onto an engine.
fn run<E: KernelElement + BurnElement>(
    case: &Case,
    qkv: &Qkv<E>,
    device: &Device,
    engine: EngineArg,
) -> Result<(Vec<E>, Vec<f32>), String> {
    let [q, k, v] = [&qkv.q, &qkv.k, &qkv.v].map(|stored| tensor(stored, case.storage, device));
    let (o, lse) = try_flash_attention_with_lse(q, k, v, options(case, engine.strategy()))
        .map_err(|error| error.to_string())?;
    let data = |data: TensorData| data.try_to_vec::<E>().map_err(|error| format!("{error:?}"));
    let lse = lse
        .into_data()
        .try_to_vec::<f32>()
        .map_err(|error| format!("{error:?}"))?;
    Ok((data(o.into_data())?, lse))
}

/// `stored` as a tensor with the same strides.
fn tensor<E: KernelElement + BurnElement>(
    stored: &Stored<E>,
    storage: Storage,
    device: &Device,
) -> Tensor<4> {
    let [batch, heads, seq, dim] = stored.shape;
    let create = |shape: [usize; 4]| {
        let data = TensorData::new(stored.data.clone(), shape);
        Tensor::<4>::from_data(data, (device, <E as BurnElement>::dtype()))
    };
    match storage {
        Storage::Bhsd => create([batch, heads, seq, dim]),
        Storage::Bshd => create([batch, seq, heads, dim]).swap_dims(1, 2),
        Storage::PaddedRows => create([batch, heads, seq, stored.strides[2]]).slice([
            0..batch,
            0..heads,
            0..seq,
            0..dim,
        ]),
    }
}

/// The case's options, with a strategy.
#[must_use]
pub fn options(case: &Case, strategy: Strategy) -> FlashAttentionOptions {
    FlashAttentionOptions::default()
        .with_strategy(strategy)
        .with_mask(mask(case))
        .with_scale(case.scale_value())
}

/// The case's mask, as the op takes it.
fn mask(case: &Case) -> Mask {
    match case.causal {
        Causal::None => Mask::None,
        Causal::BottomRight => Mask::Causal(CausalAlignment::BottomRight),
        Causal::TopLeft => Mask::Causal(CausalAlignment::TopLeft),
    }
}
