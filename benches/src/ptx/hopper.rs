//! The kernels for SM90, one page each. The PTX machine does not know their instructions.

use super::{PtxArgs, print_figures, print_table};
use anyhow::{Context, Result, anyhow};
use fa2_cubecl::offline::Ptx;
use fa2_cubecl::offline::backward::{self, BwdKernel};
use fa2_cubecl::offline::sm90::{SM, compile, compile_maps};
use fa2_cubecl::{BwdConfig, BwdPlan, Gpu, LseGradient, QuerySums, choose_backward_sm90};
use fa2_testing::census;

/// Shows the code of the kernel that makes the tensor maps, and of the forward.
pub(super) fn run(args: &PtxArgs) -> Result<()> {
    let config = args.config.sm90()?;
    for (kernel, compiled) in [
        ("tensor maps", compile_maps(config)),
        ("forward", compile(config)),
    ] {
        show(args, kernel, &config.to_string(), compiled)?;
    }
    Ok(())
}

/// Shows the code of each kernel of the backward.
pub(super) fn run_backward(args: &PtxArgs, query_sums: QuerySums) -> Result<()> {
    let plan = backward_plan(args, query_sums)?;
    for kernel in BwdKernel::of(&plan, LseGradient::Zero) {
        let compiled = backward::compile(kernel, &plan, SM);
        show(
            args,
            &format!("{kernel:?}"),
            &plan.config.to_string(),
            compiled,
        )?;
    }
    Ok(())
}

fn backward_plan(args: &PtxArgs, query_sums: QuerySums) -> Result<BwdPlan> {
    let problem = args.config.problem();
    let plan = choose_backward_sm90(&problem, Gpu::of_capability(SM), query_sums)?;
    let mut config = plan.config;
    if let Some(tile) = args.config.sm90_tile {
        let (columns, mask) = (problem.head_dim as u32, problem.mask.into());
        let tile = tile.backward(columns);
        config = BwdConfig::made_of(config.instructions(), problem.dtype, columns, mask, tile)?
            .with_query_sums(query_sums);
    }
    if let Some(loads) = args.config.loads {
        config = config.with_loads(loads.loads());
    }
    Ok(BwdPlan { config, ..plan })
}

fn show(args: &PtxArgs, kernel: &str, config: &str, compiled: Result<Ptx, String>) -> Result<()> {
    let ptx = compiled.map_err(|error| anyhow!(error))?;
    let name = format!("sm90_{kernel}_{config}").replace([' ', '=', '(', ')'], "_");
    if args.text {
        println!("{}", ptx.text);
    }
    let census = census::assemble(&ptx.text, SM, &args.out, &name)
        .map_err(|error| anyhow!(error))
        .context("assembling the kernel")?;
    println!("\n{kernel}: {config}, sm_{SM}");
    print_figures(&census, ptx.shared_bytes);
    print_table(&census, None);
    println!("files: {}/{name}.{{ptx,cubin,sass}}", args.out.display());
    Ok(())
}
