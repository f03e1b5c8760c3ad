//! The backward kernels against the f64 oracle of the gradients: poisoned outputs, repeats, and the
//! op's gradients through Burn.

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::op;
use crate::suite::plans::hopper_backward;
use crate::suite::tally::Tally;
use burn::tensor::{Device, Element as BurnElement, Tensor, TensorData};
use burn_fa2::{FlashAttentionOptions, Strategy, flash_attention_with_lse};
use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::{
    BwdPlan, BwdTensors, FwdTensors, Gpu, Problem, TensorRef, backward, choose_backward,
    choose_backward_sm90, forward,
};
use fa2_machine::{KernelElement, problem};
use fa2_testing::gradient::{ExpectedGradients, Operands};
use fa2_testing::poison::{first_unwritten, poisoned};
use fa2_testing::{CASES, Case, Causal, Inputs, Qkv, REPLAY, Stored, inputs};
use half::f16;

const SEED: u64 = 30;
/// Seed of dO and dLSE.
const GRADIENT_SEED: u64 = 31;
/// Products up to which the f64 oracle of the gradients runs; it does five times the work
/// of the forward's.
const MOST_PRODUCTS: usize = 1 << 31;

/// The cases whose gradients must have the same bits each time.
const REPEATS: [Case; 3] = [
    Case::new("repeat-backward-full", 2, 8, 777, 64),
    Case::new("repeat-backward-causal", 2, 8, 777, 128)
        .kv_heads(2)
        .causal(Causal::BottomRight),
    Case::new("DET-04", 30, 1, 2048, 128)
        .keys(128)
        .inputs(Inputs::Concentrated),
];

/// Runs the conformance grid and the replayed reports in one element type, with every way to sum dQ.
pub fn check<E: KernelElement + BurnElement>(
    client: &Client,
    gpu: Gpu,
    args: &SuiteArgs,
    tally: &mut Tally,
) {
    let device = Device::cuda(args.device());
    let cases = CASES.iter().chain(REPLAY);
    for case in cases.filter(|case| args.selects(case) && case.products() <= MOST_PRODUCTS) {
        let loaded = Loaded::<E>::new(client, case);
        let dtype = <E as fa2_testing::Element>::NAME;
        if is_kernel_case(case) {
            for (name, plan) in plans(&loaded.problem, gpu, args) {
                let result = plan.and_then(|plan| loaded.conforms(client, plan));
                tally.record(format!("{dtype} {case} [{name}]"), result);
            }
        }
        let forced = args.engines().map(EngineArg::strategy);
        for strategy in std::iter::once(Strategy::Auto).chain(forced) {
            for deterministic in [false, true] {
                let options = op::options(case, strategy).with_deterministic(deterministic);
                let result = op_gradients(&loaded, case, options, &device);
                let mode = if deterministic { ", deterministic" } else { "" };
                tally.record(
                    format!("{dtype} {case} [op's gradients, {strategy:?}{mode}]"),
                    result,
                );
            }
        }
    }
}

/// What is checked for `problem`, with its name: of each engine that has a backward the chosen plans with every
/// way to sum dQ, and forced ones.
fn plans(problem: &Problem, gpu: Gpu, args: &SuiteArgs) -> Vec<(String, Result<BwdPlan, String>)> {
    let mut plans = Vec::new();
    for engine in args.engines() {
        for &sums in engine.query_sums() {
            let chosen = match engine {
                EngineArg::Cubecl => choose_backward(problem, gpu, sums),
                EngineArg::Hopper => choose_backward_sm90(problem, gpu, sums),
                EngineArg::Cute => continue,
            };
            let chosen = chosen.map_err(|error| error.to_string());
            plans.push((format!("{} backward, {sums:?}", engine.name()), chosen));
        }
        if engine == EngineArg::Hopper && !args.chosen_only {
            let forced = hopper_backward(problem, gpu).into_iter();
            plans
                .extend(forced.map(|plan| (format!("hopper backward, {}", plan.config), Ok(plan))));
        }
    }
    plans
}

/// Cases that the kernels take as they are; the op pads or answers the rest itself.
fn is_kernel_case(case: &Case) -> bool {
    let empty = [case.batch, case.heads_q, case.seq_q].contains(&0);
    !empty && case.head_dim.is_multiple_of(8)
}

/// dK, dV and the deterministic dQ, `args.repeats` times.
pub fn check_repeats(client: &Client, gpu: Gpu, args: &SuiteArgs, tally: &mut Tally) {
    for case in REPEATS.iter().filter(|case| args.selects(case)) {
        let loaded = Loaded::<f16>::new(client, case);
        for (name, plan) in plans(&loaded.problem, gpu, args) {
            let result = plan.and_then(|plan| loaded.repeats(client, plan, args.repeats()));
            let repeats = args.repeats();
            tally.record(format!("{case} [{name}, {repeats} repeats]"), result);
        }
    }
}

/// A case's operands on the device, and what its gradients should be.
struct Loaded<E> {
    problem: Problem,
    qkv: Qkv<E>,
    d_o: Vec<E>,
    d_lse: Vec<f32>,
    inputs: [TensorRef; 4],
    d_lse_handle: Handle,
    expected: ExpectedGradients,
}

/// dQ, dK and dV in contiguous order.
type Values<E> = [Vec<E>; 3];

impl<E: KernelElement> Loaded<E> {
    fn new(client: &Client, case: &Case) -> Self {
        let qkv = inputs::generate::<E>(case, SEED);
        let normal = Case {
            inputs: Inputs::Normal,
            ..*case
        };
        let [d_o, ..] = inputs::generate::<E>(&normal, GRADIENT_SEED).logical();
        let rows = case.batch * case.heads_q * case.seq_q;
        let d_lse: Vec<f32> = (0..rows).map(|row| (row % 7) as f32 / 7.0 - 0.5).collect();
        let operands = Operands::new(&qkv, d_o.clone(), Some(d_lse.clone()));
        let stored_d_o = scattered(&d_o, &qkv.q);
        let inputs = [&qkv.q, &qkv.k, &qkv.v, &stored_d_o].map(|stored| upload(client, stored));
        Self {
            problem: problem::<E>(case),
            inputs,
            d_lse_handle: client.create_from_slice(bytemuck::cast_slice(&d_lse)),
            expected: ExpectedGradients::new(case, &operands),
            qkv,
            d_o,
            d_lse,
        }
    }

    /// The gradients of one pass over poisoned outputs.
    fn run(&self, client: &Client, plan: BwdPlan) -> Result<Values<E>, String> {
        let [q, k, v, d_o] = self.inputs.clone();
        let poison = |like: &Stored<E>| {
            let stored = Stored::<E> {
                data: poisoned(like.data.len()),
                shape: like.shape,
                strides: like.strides,
            };
            upload(client, &stored)
        };
        let o = poison(&self.qkv.q);
        let lse = client.create_from_slice(bytemuck::cast_slice(&self.d_lse));
        let fwd = FwdTensors {
            q: q.clone(),
            k: k.clone(),
            v: v.clone(),
            o: o.clone(),
            lse: lse.clone(),
        };
        forward(client, &self.problem, fwd, None).map_err(|error| error.to_string())?;
        let [d_q, d_k, d_v] = [&self.qkv.q, &self.qkv.k, &self.qkv.v].map(poison);
        let bwd = BwdTensors {
            q,
            k,
            v,
            o,
            d_o,
            lse,
            d_lse: Some(self.d_lse_handle.clone()),
            d_q: Some(d_q.clone()),
            d_kv: Some([d_k.clone(), d_v.clone()]),
        };
        let sums = plan.config.query_sums();
        backward(client, &self.problem, bwd, sums, Some(plan))
            .map_err(|error| error.to_string())?;
        let read = |tensor: &TensorRef, like: &Stored<E>| {
            let bytes = client
                .read_one(tensor.handle.clone())
                .map_err(|error| format!("{error:?}"))?;
            let stored = Stored::<E> {
                data: bytemuck::pod_collect_to_vec(&bytes[..]),
                shape: like.shape,
                strides: like.strides,
            };
            let written = stored
                .data
                .iter()
                .filter(|value| !value.is_poison())
                .count();
            let values = stored.logical();
            if let Some(at) = first_unwritten(&values) {
                return Err(format!("element {at} was not written"));
            }
            if written > values.len() {
                return Err("elements between the rows were written".into());
            }
            Ok(values)
        };
        Ok([
            read(&d_q, &self.qkv.q).map_err(|wrong| format!("dQ: {wrong}"))?,
            read(&d_k, &self.qkv.k).map_err(|wrong| format!("dK: {wrong}"))?,
            read(&d_v, &self.qkv.v).map_err(|wrong| format!("dV: {wrong}"))?,
        ])
    }

    fn conforms(&self, client: &Client, plan: BwdPlan) -> Result<(), String> {
        let [d_q, d_k, d_v] = self.run(client, plan)?;
        self.expected.judge(&d_q, &d_k, &d_v)
    }

    fn repeats(&self, client: &Client, plan: BwdPlan, repeats: usize) -> Result<(), String> {
        let bits = || {
            let [d_q, d_k, d_v] = self.run(client, plan)?;
            // Atomic sums of dQ have no order.
            let d_q = match plan.config.query_sums().is_deterministic() {
                true => d_q,
                false => Vec::new(),
            };
            let bytes = [d_q, d_k, d_v].map(|values| bytemuck::cast_slice(&values).to_vec());
            Ok::<[Vec<u8>; 3], String>(bytes)
        };
        let first = bits()?;
        for repeat in 1..repeats {
            if bits()? != first {
                return Err(format!(
                    "repeat {repeat} gave other bits than the first run"
                ));
            }
        }
        Ok(())
    }
}

/// `values`, contiguous, in the storage of `like`; what lies between the rows is poison.
fn scattered<E: KernelElement>(values: &[E], like: &Stored<E>) -> Stored<E> {
    let mut data = poisoned::<E>(like.data.len());
    let mut rest = values;
    for row in like.rows() {
        let (head, tail) = rest.split_at(row.len());
        data[row].copy_from_slice(head);
        rest = tail;
    }
    Stored {
        data,
        shape: like.shape,
        strides: like.strides,
    }
}

fn upload<E: KernelElement>(client: &Client, stored: &Stored<E>) -> TensorRef {
    let [batch, head, row, _] = stored.strides;
    TensorRef {
        handle: client.create_from_slice(bytemuck::cast_slice(&stored.data)),
        strides: [batch, head, row],
    }
}

/// The gradients of `sum(dO * O) + sum(dLSE * LSE)` by Burn's autodiff over the op.
fn op_gradients<E: KernelElement + BurnElement>(
    loaded: &Loaded<E>,
    case: &Case,
    options: FlashAttentionOptions,
    device: &Device,
) -> Result<(), String> {
    let tracked = device.clone().autodiff();
    let dtype = <E as BurnElement>::dtype();
    let create = |values: Vec<E>, shape: [usize; 4]| {
        Tensor::<4>::from_data(TensorData::new(values, shape), (&tracked, dtype))
    };
    let (shape_q, shape_kv) = (case.shape_q(), case.shape_kv());
    let [q, k, v] = loaded.qkv.logical();
    let q = create(q, shape_q).require_grad();
    let k = create(k, shape_kv).require_grad();
    let v = create(v, shape_kv).require_grad();
    let d_o = create(loaded.d_o.clone(), shape_q);
    let [batch, heads, seq, _] = shape_q;
    let d_lse = TensorData::new(loaded.d_lse.clone(), [batch, heads, seq]);
    let d_lse = Tensor::<3>::from_data(d_lse, &tracked);
    let (o, lse) = flash_attention_with_lse(q.clone(), k.clone(), v.clone(), options);
    // A row that sees no key has an LSE of -inf, of which no multiple can be summed.
    let lse = lse.clone().mask_fill(lse.is_inf(), 0.0);
    let of_lse = (lse * d_lse).sum();
    let of_o = (o.cast(burn::tensor::DType::F32) * d_o.cast(burn::tensor::DType::F32)).sum();
    let gradients = (of_o + of_lse).backward();
    let value = |name: &str, tensor: &Tensor<4>| {
        let gradient = tensor.grad(&gradients).ok_or(format!("no {name}"))?;
        let values = gradient.into_data().try_to_vec::<E>();
        values.map_err(|error| format!("{name}: {error:?}"))
    };
    let (d_q, d_k, d_v) = (value("dQ", &q)?, value("dK", &k)?, value("dV", &v)?);
    loaded.expected.judge(&d_q, &d_k, &d_v)
}
