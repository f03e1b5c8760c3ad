//! Time of a kernel's first call: compilation and loading by the driver included.
//!
//! Another kernel goes first: it opens CubeCL's compile cache, where that is on, which a program
//! does with whatever kernel it runs first.

use crate::arguments::{ConfigArgs, DtypeArg};
use crate::engine::{Engine, EngineArg};
use crate::suite::loaded::Loaded;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use cubecl::future::block_on;
use fa2_cubecl::{FwdConfig, FwdPlan, FwdSm90Plan, Tile};
use fa2_machine::KernelElement;
use fa2_testing::{Case, Causal, inputs};
use half::{bf16, f16};
use std::time::Instant;

/// Options of `fa2-bench first-call`.
#[derive(Debug, Args)]
pub struct FirstCallArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Whose kernel: cubecl or hopper.
    #[arg(long, value_enum, default_value = "cubecl")]
    engine: EngineArg,
}

/// Runs `fa2-bench first-call`.
///
/// # Errors
/// Where there is no usable GPU.
pub fn run(args: &FirstCallArgs) -> Result<()> {
    match args.config.dtype {
        DtypeArg::F16 => measure::<f16>(args),
        DtypeArg::Bf16 => measure::<bf16>(args),
    }
}

fn measure<E: KernelElement>(args: &FirstCallArgs) -> Result<()> {
    let config = &args.config;
    let client = cubecl::Device::cuda(0).context("no CUDA device")?.client();
    let gpu = fa2_cubecl::gpu(&client)?;
    let section = 1;
    let engine = match args.engine {
        EngineArg::Cubecl => {
            let config = config.config(gpu)?;
            Engine::CubeCl(Some(FwdPlan { config, section }))
        }
        EngineArg::Hopper => {
            let config = config.sm90()?;
            Engine::Hopper(Some(FwdSm90Plan {
                config,
                section,
                cubes: None,
            }))
        }
        EngineArg::Cute => bail!("--engine cute: nothing is compiled at its first call"),
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
        config: FwdConfig::new(E::DTYPE, config.d, loaded.problem.mask.into(), opening)?,
        section,
    };
    let calls = [
        ("first kernel of the process", Engine::CubeCl(Some(opening))),
        ("first call", engine),
        ("second call", engine),
    ];
    for (name, engine) in calls {
        let started = Instant::now();
        engine
            .launch(&client, &loaded.problem, &tensors)
            .map_err(anyhow::Error::msg)?;
        sync()?;
        println!(
            "{name}: {:.1} ms ({engine})",
            started.elapsed().as_secs_f64() * 1e3,
        );
    }
    Ok(())
}
