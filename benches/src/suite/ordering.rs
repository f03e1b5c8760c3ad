//! Kernels of both compilers in one stream, ten thousand times: each must see what the one before it
//! wrote.
//!
//! A step fills Q from the step's number, runs attention, and the gradient where that is asked for, and folds
//! the bits of what they give into a sum in which the order counts. The sums of a run that never waits must be
//! those of a run that waits after every launch.

mod op;

use crate::engine::EngineArg;
use crate::suite::SuiteArgs;
use crate::suite::passes::{Passes, Values};
use crate::suite::tally::Tally;
use crate::suite::threads::{THREADS, together};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::server::Handle;
use fa2_cubecl::QuerySums;
use fa2_testing::{Case, Causal};
use half::f16;

/// Small enough that the host is often behind and often ahead.
const CASE: Case = Case::new("ordering", 1, 2, 128, 64).causal(Causal::BottomRight);
const STEPS: u32 = 10_000;
/// Steps of each of several threads, and in a profile.
const FEWER_STEPS: u32 = 3_000;
const UNITS: u32 = 256;
const SEED: u64 = 25;

/// What a step runs.
#[derive(Clone, Copy)]
enum Work {
    /// The forward pass.
    Forward(EngineArg),
    /// Both passes. Atomic sums of dQ have no bits to fold.
    Both(EngineArg, QuerySums),
}

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

/// Checks every engine of `args`, from one thread, from several, and inside a profile; then its gradient.
pub fn check(client: &Client, args: &SuiteArgs, tally: &mut Tally) {
    if !args.selects(&CASE) {
        return;
    }
    for engine in args.engines() {
        let name = engine.name();
        check_work(client, Work::Forward(engine), name, tally);
        tally.record(
            format!("{CASE} [{name}, {FEWER_STEPS} steps in a profile]"),
            profiled(client, Work::Forward(engine)),
        );
        for &sums in engine.query_sums() {
            let name = format!("{name}, both passes, {sums:?}");
            check_work(client, Work::Both(engine, sums), &name, tally);
        }
        op::check(args, engine, tally);
    }
}

fn check_work(client: &Client, work: Work, name: &str, tally: &mut Tally) {
    tally.record(
        format!("{CASE} [{name}, {STEPS} steps]"),
        matches_waiting(client, work, STEPS),
    );
    tally.record(
        format!("{CASE} [{name}, {THREADS} threads x {FEWER_STEPS} steps]"),
        threads(client, work),
    );
}

/// The buffers of one run.
struct Run {
    client: Client,
    passes: Passes,
    sum: Handle,
}

impl Run {
    fn new(client: &Client) -> Self {
        let words = Self::words() as usize;
        Self {
            client: client.clone(),
            passes: Passes::new(client, &Values::new(&CASE, SEED)),
            sum: client.create_from_slice(&vec![0; words * size_of::<u32>()]),
        }
    }

    /// Words of Q, and of each output.
    fn words() -> u32 {
        (CASE.heads_q * CASE.seq_q * CASE.head_dim * size_of::<f16>() / size_of::<u32>()) as u32
    }

    /// Fills Q.
    fn fill(&self, step: u32) {
        let words = Self::words();
        // SAFETY: the buffer holds `words` words, and the kernel writes no more.
        unsafe {
            fill::launch_unchecked(
                &self.client,
                CubeCount::Static(words.div_ceil(UNITS), 1, 1),
                CubeDim::new_1d(UNITS),
                BufferArg::from_raw_parts(self.passes.q().clone(), words as usize),
                step,
                words,
            );
        }
    }

    fn fold(&self, output: &Handle) {
        let words = Self::words();
        // SAFETY: both buffers hold `words` words.
        unsafe {
            fold::launch_unchecked(
                &self.client,
                CubeCount::Static(words.div_ceil(UNITS), 1, 1),
                CubeDim::new_1d(UNITS),
                BufferArg::from_raw_parts(self.sum.clone(), words as usize),
                BufferArg::from_raw_parts(output.clone(), words as usize),
                words,
            );
        }
    }

    /// Steps `1..=steps`; waits after every launch if asked to.
    fn steps(&self, work: Work, steps: u32, waits: bool) -> Result<(), String> {
        let wait = || match waits {
            true => block_on(self.client.sync()).map_err(|error| format!("{error:?}")),
            false => Ok(()),
        };
        let outputs = self.passes.outputs();
        let [o, d_q, d_k, d_v] = outputs.tensors();
        for step in 1..=steps {
            self.fill(step);
            wait()?;
            let (Work::Forward(engine) | Work::Both(engine, _)) = work;
            self.passes.forward(engine)?;
            wait()?;
            let folded = match work {
                Work::Forward(_) => vec![o],
                Work::Both(_, sums) => {
                    self.passes.backward(engine, sums)?;
                    wait()?;
                    match sums.is_deterministic() {
                        false => vec![d_k, d_v],
                        true => vec![d_q, d_k, d_v],
                    }
                }
            };
            for output in folded {
                self.fold(output);
                wait()?;
            }
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

fn sum_of(client: &Client, work: Work, steps: u32, waits: bool) -> Result<Vec<u32>, String> {
    let run = Run::new(client);
    run.steps(work, steps, waits)?;
    run.sum()
}

fn compare(found: &[u32], expected: &[u32]) -> Result<(), String> {
    let wrong = found.iter().zip(expected).filter(|(a, b)| a != b).count();
    match wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of {} sums differ", expected.len())),
    }
}

fn matches_waiting(client: &Client, work: Work, steps: u32) -> Result<(), String> {
    let expected = sum_of(client, work, steps, true)?;
    if expected.iter().all(|&sum| sum == 0) {
        return Err("the sums are zero: nothing ran".into());
    }
    compare(&sum_of(client, work, steps, false)?, &expected)
}

fn threads(client: &Client, work: Work) -> Result<(), String> {
    let expected = sum_of(client, work, FEWER_STEPS, true)?;
    let steps = |_| compare(&sum_of(client, work, FEWER_STEPS, false)?, &expected);
    together(steps).map(drop)
}

fn profiled(client: &Client, work: Work) -> Result<(), String> {
    let expected = sum_of(client, work, FEWER_STEPS, true)?;
    let run = Run::new(client);
    let (result, duration) = client
        .profile(|| run.steps(work, FEWER_STEPS, false), "ordering")
        .map_err(|error| format!("{error:?}"))?;
    result?;
    if block_on(duration.resolve()).is_none() {
        return Err("the profile measured no time".into());
    }
    compare(&run.sum()?, &expected)
}
