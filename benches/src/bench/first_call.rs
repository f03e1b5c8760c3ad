//! Time of a kernel's first call: compilation and loading by the driver included.
//!
//! Another kernel goes first: it opens CubeCL's compile cache, where that is on, which a program
//! does with whatever kernel it runs first.

use crate::arguments::{ConfigArgs, DtypeArg};
use crate::engine::Engine;
use crate::suite::loaded::Loaded;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use cubecl::future::block_on;
use fa2_cubecl::{FwdConfig, FwdPlan, Tile};
use fa2_machine::KernelElement;
use fa2_testing::{Case, Causal, inputs};
use half::{bf16, f16};
use std::time::Instant;

/// Options of `fa2-bench first-call`.
#[derive(Debug, Args)]
pub struct FirstCallArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Runs `fa2-bench first-call`.
///
/// # Errors
/// Where there is no usable GPU.
pub fn run(args: &FirstCallArgs) -> Result<()> {
    match args.config.dtype {
        DtypeArg::F16 => measure::<f16>(&args.config),
        DtypeArg::Bf16 => measure::<bf16>(&args.config),
    }
}

fn measure<E: KernelElement>(config: &ConfigArgs) -> Result<()> {
    let client = cubecl::Device::cuda(0).context("no CUDA device")?.client();
    let gpu = fa2_cubecl::gpu(&client)?;
    let plan = FwdPlan {
        config: config.config(gpu)?,
        section: 1,
    };
    let causal = if config.causal {
        Causal::BottomRight
    } else {
        Causal::None
    };
    let case = Case::new("first", 1, 2, 256, config.d as usize).causal(causal);
    let sync = || block_on(client.sync()).map_err(|error| anyhow!("{error:?}"));
    let loaded = Loaded::new(&client, &case, &inputs::generate::<E>(&case, 1));
    let tensors = loaded.tensors(&client);
    sync()?;
    let opening = Tile {
        block_m: 64,
        block_n: 32,
        warps: 4,
        stages: 1,
    };
    let opening = FwdPlan {
        config: FwdConfig::new(E::DTYPE, config.d, plan.config.mask(), opening)?,
        section: 1,
    };
    let calls = [
        ("first kernel of the process", opening),
        ("first call", plan),
        ("second call", plan),
    ];
    for (name, plan) in calls {
        let started = Instant::now();
        Engine::CubeCl(Some(plan))
            .launch(&client, &loaded.problem, &tensors)
            .map_err(anyhow::Error::msg)?;
        sync()?;
        println!(
            "{name}: {:.1} ms ({})",
            started.elapsed().as_secs_f64() * 1e3,
            plan.config
        );
    }
    Ok(())
}
