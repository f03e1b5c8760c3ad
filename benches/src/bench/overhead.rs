//! Host time of a call: the kernel's launch, and what each layer above adds to it.

use crate::engine::asked_or_there;
use crate::suite::loaded::Loaded;
use anyhow::{Context, Result, anyhow};
use burn::tensor::{Device, Distribution, Tensor};
use burn_fa2::{FlashAttentionOptions, flash_attention};
use clap::Args;
use cubecl::future::block_on;
use fa2_testing::{Case, inputs};
use half::f16;
use std::time::Instant;

/// Options of `fa2-bench overhead`.
#[derive(Debug, Args)]
pub struct OverheadArgs {
    /// Calls of a round.
    #[arg(long, default_value_t = 2000)]
    calls: usize,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
}

/// Runs `fa2-bench overhead`.
///
/// # Errors
/// Where there is no usable GPU.
pub fn run(args: &OverheadArgs) -> Result<()> {
    let client = cubecl::Device::cuda(0).context("no CUDA device")?.client();
    let sm = fa2_cubecl::gpu(&client)?.sm;
    let sync = || block_on(client.sync()).map_err(|error| anyhow!("{error:?}"));
    // So small that the GPU keeps up, and the host is what is measured.
    let case = Case::new("overhead", 1, 1, 64, 64);
    let loaded = Loaded::new(&client, &case, &inputs::generate::<f16>(&case, 1));
    let tensors = loaded.tensors(&client);
    for engine in asked_or_there(&[], sm) {
        let launch = || {
            let launched = engine.chosen().launch(&client, &loaded.problem, &tensors);
            launched.map(drop).map_err(anyhow::Error::msg)
        };
        report(&format!("{} launch", engine.name()), args, &launch, &sync)?;
        let allocate = || {
            let output =
                [64 * 64 * size_of::<f16>(), 64 * size_of::<f32>()].map(|n| client.empty(n));
            launch()?;
            drop(output);
            Ok(())
        };
        let name = format!("{} launch, outputs allocated", engine.name());
        report(&name, args, &allocate, &sync)?;
    }

    let device = Device::cuda(0);
    let random = || {
        Tensor::<4>::random([1, 1, 64, 64], Distribution::Default, &device)
            .cast(burn::tensor::DType::F16)
    };
    let [q, k, v] = [random(), random(), random()];
    let sync = || device.sync().map_err(|error| anyhow!("{error:?}"));
    // What Burn's own layers cost around one launch of a kernel that its fusion can't merge.
    let flip = || {
        drop(q.clone().flip([0]));
        Ok(())
    };
    report("Burn's flip", args, &flip, &sync)?;
    for engine in asked_or_there(&[], sm) {
        let options = FlashAttentionOptions::default().with_strategy(engine.strategy());
        let op = || {
            drop(flash_attention(q.clone(), k.clone(), v.clone(), options));
            Ok(())
        };
        report(&format!("op on {}", engine.name()), args, &op, &sync)?;
    }
    Ok(())
}

/// Calls of a burst: few enough that no queue between the threads is full.
const BURST: usize = 16;

/// Prints the median host time of `call`: in a burst, where only the calling thread's own work
/// counts, and in a long run, where the slowest of Burn's and CubeCL's threads does.
fn report(
    name: &str,
    args: &OverheadArgs,
    call: &dyn Fn() -> Result<()>,
    sync: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let timed = |calls: usize| {
        sync()?;
        let started = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        let queued = started.elapsed();
        sync()?;
        let times = [queued, started.elapsed()];
        Ok::<_, anyhow::Error>(times.map(|time| time.as_secs_f64() * 1e6 / calls as f64))
    };
    // The first round compiles and warms up.
    timed(args.calls)?;
    let mut burst = Vec::new();
    let mut run = Vec::new();
    for _ in 0..args.rounds {
        for _ in 0..args.calls / BURST {
            burst.push(timed(BURST)?[0]);
        }
        run.push(timed(args.calls)?[1]);
    }
    println!(
        "{name}: {:.2} us of the calling thread, {:.2} us a call in a long run",
        median(burst),
        median(run)
    );
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
