//! Kernels of both compilers in one stream, ten thousand times: each must see what the one before it
//! wrote.
//!
//! A step fills Q from the step's number, runs attention, and folds O's bits into a sum in which the
//! order counts. The sums of a run that never waits must be those of a run that waits after every
//! launch.

use crate::engine::{Engine, EngineArg};
use crate::suite::SuiteArgs;
use crate::suite::tally::Tally;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_fa2::{FlashAttentionOptions, flash_attention};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::server::Handle;
use fa2_cubecl::{FwdTensors, Problem, TensorRef};
use fa2_machine::problem;
use fa2_testing::{Case, Causal};
use half::f16;

/// Small enough that the host is often behind and often ahead.
const CASE: Case = Case::new("ordering", 1, 2, 128, 64).causal(Causal::BottomRight);
const STEPS: u32 = 10_000;
/// Steps of each of several threads, and of the op, which costs more host time.
const FEWER_STEPS: u32 = 3_000;
const THREADS: u32 = 4;
const UNITS: u32 = 256;

/// Two f16 between 0.5 and 1 from a multiplicative hash of the place and the step.
#[cube(launch_unchecked)]
fn fill(out: &mut [u32], step: u32, words: u32) {
    let at = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if at < words {
        let hash = (at + step * 0x9e37_79b9u32) * 0x85eb_ca6bu32;
        out[at as usize] = ((hash >> 4u32) & 0x03ff_03ffu32) | 0x3800_3800u32;
    }
}

/// `sum = 3 sum + word`, wrapping.
#[cube(launch_unchecked)]
fn fold(sum: &mut [u32], of: &[u32], words: u32) {
    let at = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if at < words {
        sum[at as usize] = sum[at as usize] * 3u32 + of[at as usize];
    }
}

/// Checks every engine of `args`, from one thread, from several, and inside a profile.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    if !args.selects(&CASE) {
        return;
    }
    for engine in args.engines() {
        let name = engine.name();
        tally.record(
            format!("{CASE} [{name}, {STEPS} steps]"),
            matches_waiting(client, engine, STEPS),
        );
        tally.record(
            format!("{CASE} [{name}, {THREADS} threads x {FEWER_STEPS} steps]"),
            threads(client, engine),
        );
        tally.record(
            format!("{CASE} [{name}, {FEWER_STEPS} steps in a profile]"),
            profiled(client, engine),
        );
        tally.record(
            format!("{CASE} [op on {name}, {FEWER_STEPS} steps]"),
            op(args, engine),
        );
    }
}

/// The buffers of one run.
struct Run {
    client: Client,
    problem: Problem,
    tensors: FwdTensors,
    sum: Handle,
}

impl Run {
    fn new(client: &Client) -> Self {
        let rows = CASE.heads_q * CASE.seq_q;
        let strides = [
            rows * CASE.head_dim,
            CASE.seq_q * CASE.head_dim,
            CASE.head_dim,
        ];
        let zeros = || client.create_from_slice(&vec![0; rows * CASE.head_dim * size_of::<f16>()]);
        let tensor = || TensorRef {
            handle: zeros(),
            strides,
        };
        let run = Self {
            client: client.clone(),
            problem: problem::<f16>(&CASE),
            tensors: FwdTensors {
                q: tensor(),
                k: tensor(),
                v: tensor(),
                o: tensor(),
                lse: client.create_from_slice(&vec![0; rows * size_of::<f32>()]),
            },
            sum: zeros(),
        };
        run.fill(&run.tensors.k.handle, STEPS + 1);
        run.fill(&run.tensors.v.handle, STEPS + 2);
        run
    }

    fn words() -> u32 {
        (CASE.heads_q * CASE.seq_q * CASE.head_dim / 2) as u32
    }

    fn fill(&self, handle: &Handle, step: u32) {
        let words = Self::words();
        // SAFETY: the buffer holds `words` words, and the kernel writes no more.
        unsafe {
            fill::launch_unchecked(
                &self.client,
                CubeCount::Static(words.div_ceil(UNITS), 1, 1),
                CubeDim::new_1d(UNITS),
                BufferArg::from_raw_parts(handle.clone(), words as usize),
                step,
                words,
            );
        }
    }

    fn fold(&self) {
        let words = Self::words();
        // SAFETY: both buffers hold `words` words.
        unsafe {
            fold::launch_unchecked(
                &self.client,
                CubeCount::Static(words.div_ceil(UNITS), 1, 1),
                CubeDim::new_1d(UNITS),
                BufferArg::from_raw_parts(self.sum.clone(), words as usize),
                BufferArg::from_raw_parts(self.tensors.o.handle.clone(), words as usize),
                words,
            );
        }
    }

    /// Steps `1..=steps`; waits after every launch if asked to.
    fn steps(&self, engine: Engine, steps: u32, waits: bool) -> Result<(), String> {
        let wait = || match waits {
            true => block_on(self.client.sync()).map_err(|error| format!("{error:?}")),
            false => Ok(()),
        };
        for step in 1..=steps {
            self.fill(&self.tensors.q.handle, step);
            wait()?;
            engine.launch(&self.client, &self.problem, &self.tensors)?;
            wait()?;
            self.fold();
            wait()?;
        }
        Ok(())
    }

    fn sum(&self) -> Result<Vec<u32>, String> {
        let bytes = self
            .client
            .read_one(self.sum.clone())
            .map_err(|error| format!("{error:?}"))?;
        Ok(bytemuck::pod_collect_to_vec(&bytes[..]))
    }
}

fn sum_of(client: &Client, engine: EngineArg, steps: u32, waits: bool) -> Result<Vec<u32>, String> {
    let run = Run::new(client);
    run.steps(engine.chosen(), steps, waits)?;
    run.sum()
}

fn compare(found: &[u32], expected: &[u32]) -> Result<(), String> {
    let wrong = found.iter().zip(expected).filter(|(a, b)| a != b).count();
    match wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of {} sums differ", expected.len())),
    }
}

fn matches_waiting(client: &Client, engine: EngineArg, steps: u32) -> Result<(), String> {
    let expected = sum_of(client, engine, steps, true)?;
    if expected.iter().all(|&sum| sum == 0) {
        return Err("the sums are zero: nothing ran".into());
    }
    compare(&sum_of(client, engine, steps, false)?, &expected)
}

fn threads(client: &Client, engine: EngineArg) -> Result<(), String> {
    let expected = sum_of(client, engine, FEWER_STEPS, true)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| compare(&sum_of(client, engine, FEWER_STEPS, false)?, &expected))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a thread panicked".into()))
        })
    })
}

fn profiled(client: &Client, engine: EngineArg) -> Result<(), String> {
    let expected = sum_of(client, engine, FEWER_STEPS, true)?;
    let run = Run::new(client);
    let (result, duration) = client
        .profile(
            || run.steps(engine.chosen(), FEWER_STEPS, false),
            "ordering",
        )
        .map_err(|error| format!("{error:?}"))?;
    result?;
    if block_on(duration.resolve()).is_none() {
        return Err("the profile measured no time".into());
    }
    compare(&run.sum()?, &expected)
}

/// Burn's operations around the op: under fusion they wait in a queue of their own.
fn op(args: &SuiteArgs, engine: EngineArg) -> Result<(), String> {
    let device = Device::cuda(args.device());
    let options = FlashAttentionOptions::causal().with_strategy(engine.strategy());
    let shape = CASE.shape_q();
    let elements = shape.iter().product::<usize>();
    let tensor = |salt: usize| {
        let value = |at: usize| f16::from_f32(((at * 7 + salt) % 61) as f32 / 61.0 - 0.5);
        let data = TensorData::new((0..elements).map(value).collect::<Vec<_>>(), shape);
        Tensor::<4>::from_data(data, (&device, DType::F16))
    };
    let run = |waits: bool| -> Result<Vec<Vec<u16>>, String> {
        let [x, k, v] = [1, 2, 3].map(tensor);
        let mut outputs = Vec::new();
        for step in 0..FEWER_STEPS {
            // One rounding an element, so that how Burn merges its operations can't show.
            let q = x.clone() * (1.0 + f64::from(step % 64) / 64.0);
            outputs.push(flash_attention(q, k.clone(), v.clone(), options) * 3.0);
            if waits {
                device.sync().map_err(|error| format!("{error:?}"))?;
            }
        }
        let bits = |output: Tensor<4>| {
            let values = output.into_data().try_to_vec::<f16>();
            let values = values.map_err(|error| format!("{error:?}"))?;
            Ok(values.into_iter().map(f16::to_bits).collect())
        };
        outputs.into_iter().map(bits).collect()
    };
    let expected = run(true)?;
    let found = run(false)?;
    match found.iter().zip(&expected).filter(|(a, b)| a != b).count() {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of {FEWER_STEPS} outputs differ")),
    }
}
