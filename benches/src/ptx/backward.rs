//! The kernels of the backward pass, one page each.

use super::{PtxArgs, case, hopper, print_figures, print_table};
use crate::engine::EngineArg;
use anyhow::{Context, Result, anyhow, bail};
use fa2_cubecl::offline::backward::{BwdKernel, compile};
use fa2_cubecl::{BwdPlan, Dtype, Gpu, LseGradient, choose_backward};
use fa2_machine::{BackwardInputs, BackwardKernels, KernelElement};
use fa2_testing::gradient::{ExpectedGradients, Operands};
use fa2_testing::{Case, Expected, Stored, census, inputs};
use half::{bf16, f16};

/// Shows the code of each kernel, then runs all of them in the PTX machine.
pub(super) fn run(args: &PtxArgs) -> Result<()> {
    let sums = args.query_sums.into();
    match args.engine {
        EngineArg::Cubecl => {}
        EngineArg::Hopper => return hopper::run_backward(args, sums),
        EngineArg::Cute => bail!("the CuTe kernels have no backward"),
    }
    let plan = choose_backward(&args.config.problem(), Gpu::of_capability(args.sm), sums)?;
    println!("backward, {}, sm_{}", plan.config, args.sm);
    for kernel in BwdKernel::of(&plan, LseGradient::Zero) {
        let ptx = compile(kernel, &plan, args.sm).map_err(|error| anyhow!(error))?;
        let name = format!("{kernel:?}_{}", plan.config).replace([' ', '=', '(', ')'], "_");
        let census = census::assemble(&ptx.text, args.sm, &args.out, &name)
            .map_err(|error| anyhow!(error))
            .context("assembling the kernel")?;
        println!("\n{kernel:?}");
        if args.text {
            println!("{}", ptx.text);
        }
        print_figures(&census, ptx.shared_bytes);
        print_table(&census, None);
        println!("files: {}/{name}.{{ptx,cubin,sass}}", args.out.display());
    }
    match plan.config.dtype() {
        Dtype::F16 => measure::<f16>(args, plan),
        Dtype::Bf16 => measure::<bf16>(args, plan),
    }
}

/// Runs the kernels in the PTX machine and prints the check of the gradients and the measures.
fn measure<E: KernelElement>(args: &PtxArgs, plan: BwdPlan) -> Result<()> {
    let case = case(args);
    let qkv = inputs::generate::<E>(&case, 1);
    let [d_o, ..] = inputs::generate::<E>(&case, 2).logical();
    let forward = Expected::of(&case, &qkv).reference;
    let expected = ExpectedGradients::new(&case, &Operands::new(&qkv, d_o.clone(), None));
    let run = BackwardKernels::new(plan, args.sm)?.backward(
        &case,
        &BackwardInputs {
            o: contiguous(
                &case,
                forward.output.iter().map(|&o| E::from_f64(o)).collect(),
            ),
            lse: forward.lse.iter().map(|&lse| lse as f32).collect(),
            d_o: contiguous(&case, d_o),
            d_lse: None,
            qkv,
        },
        args.seeds,
    )?;
    expected
        .judge(&run.d_q, &run.d_k, &run.d_v)
        .map_err(|wrong| anyhow!("a gradient is wrong: {wrong}"))?;
    println!(
        "\nin the PTX machine, {case}, {} schedules: no violation",
        args.seeds + 1
    );
    let reports = expected.reports(&run.d_q, &run.d_k, &run.d_v);
    for (name, report) in ["dQ", "dK", "dV"].iter().zip(reports) {
        println!("{name} {report}");
    }
    for (kernel, measures) in run.measures {
        println!("\n{kernel:?}\n{measures}");
    }
    Ok(())
}

/// A tensor of Q's shape without gaps.
fn contiguous<E>(case: &Case, data: Vec<E>) -> Stored<E> {
    let shape = case.shape_q();
    let [_, heads, rows, columns] = shape;
    Stored {
        data,
        shape,
        strides: [heads * rows * columns, rows * columns, columns, 1],
    }
}
