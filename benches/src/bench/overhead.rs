//! Host time of a call: the kernel's launch, and what the op adds to it.

use crate::suite::engine::Loaded;
use anyhow::{Context, Result, anyhow};
use burn::tensor::{Device, Distribution, Tensor};
use burn_fa2::{FlashAttentionOptions, Strategy, flash_attention};
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
    let sync = || block_on(client.sync()).map_err(|error| anyhow!("{error:?}"));
    // So small that the GPU keeps up, and the host is what is measured.
    let case = Case::new("overhead", 1, 1, 64, 64);
    let loaded = Loaded::new(&client, &case, &inputs::generate::<f16>(&case, 1));
    let launch = || Ok(loaded.launch(&client, None).map(|_| ())?);
    report("kernel launch", args, &launch, &sync)?;

    let device = Device::cuda(0);
    let random = || {
        Tensor::<4>::random([1, 1, 64, 64], Distribution::Default, &device)
            .cast(burn::tensor::DType::F16)
    };
    let [q, k, v] = [random(), random(), random()];
    let options = FlashAttentionOptions::default().with_strategy(Strategy::CubeCl);
    let op = || {
        drop(flash_attention(q.clone(), k.clone(), v.clone(), options));
        Ok(())
    };
    report("op", args, &op, &|| {
        device.sync().map_err(|error| anyhow!("{error:?}"))
    })
}

/// Median host time of `call`, without waiting for the GPU between calls.
fn report(
    name: &str,
    args: &OverheadArgs,
    call: &dyn Fn() -> Result<()>,
    sync: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let mut rounds = Vec::new();
    for _ in 0..=args.rounds {
        sync()?;
        let started = Instant::now();
        for _ in 0..args.calls {
            call()?;
        }
        let queued = started.elapsed();
        sync()?;
        rounds.push(
            [queued, started.elapsed()].map(|time| time.as_secs_f64() * 1e6 / args.calls as f64),
        );
    }
    // The first round compiles and warms up.
    rounds.remove(0);
    rounds.sort_by(|a, b| a[1].total_cmp(&b[1]));
    let [queued, done] = rounds[rounds.len() / 2];
    println!("{name}: {queued:.2} us to enqueue, {done:.2} us a call with the final sync");
    Ok(())
}
