//! What the op decides by itself: which kernels each strategy takes for either pass, and which operands it
//! copies first.

use crate::engine::{EngineArg, is_there};
use crate::suite::SuiteArgs;
use crate::suite::gradients::{Bits, bits, bits_of};
use crate::suite::op;
use crate::suite::passes::{Outputs, Passes, Values, operands};
use crate::suite::tally::Tally;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_fa2::{Strategy, try_flash_attention};
use cubecl::client::Client;
use fa2_cubecl::{Gpu, QuerySums, choose_backward_sm90};
use fa2_machine::problem;
use fa2_testing::{Case, Causal};
use half::f16;

/// A short one under a causal mask, and one without a mask.
const CASES: [Case; 2] = [
    Case::new("choice-short", 2, 4, 333, 64)
        .kv_heads(2)
        .causal(Causal::BottomRight),
    Case::new("choice", 2, 4, 333, 128).kv_heads(2),
];
const SEED: u64 = 23;

/// Compares bits: those of the op with those of the kernels that it should take, and those of keys and values
/// that are repeated by a stride of 0 with those of copies.
pub fn check(client: &Client, gpu: Gpu, args: &SuiteArgs, tally: &mut Tally) {
    let device = Device::cuda(args.device());
    for case in CASES.iter().filter(|case| args.selects(case)) {
        for taken in taken(case, gpu, args) {
            let Taken {
                strategy,
                forward,
                backward,
            } = taken;
            for sums in [QuerySums::Atomic, backward.deterministic_sums()] {
                tally.record(
                    format!(
                        "{case} [op, {strategy:?} is {}, its gradient {}, {sums:?}]",
                        forward.name(),
                        backward.name()
                    ),
                    takes(client, case, &device, taken, sums),
                );
            }
        }
        for engine in args.engines() {
            tally.record(
                format!("{case} [op on {}, keys repeated by strides]", engine.name()),
                reads_repeated_keys(case, &device, engine),
            );
        }
    }
}

/// A strategy, and the engines whose kernels it should take.
#[derive(Clone, Copy)]
struct Taken {
    strategy: Strategy,
    forward: EngineArg,
    backward: EngineArg,
}

fn taken(case: &Case, gpu: Gpu, args: &SuiteArgs) -> Vec<Taken> {
    use EngineArg::{Cubecl, Hopper};
    let problem = problem::<f16>(case);
    let there = is_there(Hopper, gpu.sm);
    let differentiates = choose_backward_sm90(&problem, gpu, QuerySums::Atomic).is_ok();
    let fastest = |is_hopper| if is_hopper { Hopper } else { Cubecl };
    let auto = Taken {
        strategy: Strategy::Auto,
        forward: fastest(there),
        backward: fastest(there && differentiates),
    };
    let forced = args.engines().map(|engine| Taken {
        strategy: engine.strategy(),
        forward: engine,
        backward: fastest(engine == Hopper && differentiates),
    });
    std::iter::once(auto).chain(forced).collect()
}

/// Whether both passes of the op have the bits that these engines give.
fn takes(
    client: &Client,
    case: &Case,
    device: &Device,
    taken: Taken,
    sums: QuerySums,
) -> Result<(), String> {
    let passes = Passes::new(client, &Values::new(case, SEED));
    passes.forward(taken.forward)?;
    passes.backward(taken.backward, sums)?;
    let expected = f16_bits(&passes.outputs(), client)?;
    let options = op::options(case, taken.strategy).with_deterministic(sums.is_deterministic());
    let found = bits(case, &operands(case, SEED), device, options)?;
    for (at, name) in ["O", "dQ", "dK", "dV"].into_iter().enumerate() {
        // dQ has no order of its sums where they are atomic.
        let has_bits = name != "dQ" || sums.is_deterministic();
        if has_bits && found[at] != expected[at] {
            return Err(format!("{name} has other bits"));
        }
    }
    Ok(())
}

fn f16_bits(outputs: &Outputs, client: &Client) -> Result<Bits, String> {
    let [o, _, d_q, d_k, d_v] = outputs.read(client)?;
    Ok([o, d_q, d_k, d_v].map(|bytes| bytemuck::pod_collect_to_vec(&bytes)))
}

fn reads_repeated_keys(case: &Case, device: &Device, engine: EngineArg) -> Result<(), String> {
    let [q, k, v, _] = operands(case, SEED);
    let tensor = |values: &Vec<f16>, shape: [usize; 4]| {
        Tensor::<4>::from_data(TensorData::new(values.clone(), shape), (device, DType::F16))
    };
    let of = |repeat: &dyn Fn(Tensor<4>) -> Tensor<4>| {
        let first = |keys: &Vec<f16>| tensor(keys, case.shape_kv()).narrow(0, 0, 1);
        let (k, v) = (repeat(first(&k)), repeat(first(&v)));
        let options = op::options(case, engine.strategy());
        let o = try_flash_attention(tensor(&q, case.shape_q()), k, v, options);
        bits_of(o.map_err(|error| error.to_string())?)
    };
    let by_stride = of(&|keys| keys.expand(case.shape_kv()))?;
    match by_stride == of(&|keys| keys.repeat_dim(0, case.batch))? {
        true => Ok(()),
        false => Err("other bits".to_owned()),
    }
}
