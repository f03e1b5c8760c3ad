//! The conformance grid on the real PTX, without a GPU: right against the f64 oracle, and clean under
//! every check of the machine.

use fa2_cubecl::{Columns, FwdConfig, FwdPlan, Gpu, RowCopy, Tile, choose};
use fa2_machine::{Kernel, KernelElement, problem};
use fa2_testing::{CASES, Case, Causal, Expected, REPLAY, inputs};
use half::{bf16, f16};
use std::collections::HashMap;

const SM: u32 = 80;
const SEED: u64 = 20;
/// Multiplications of Q K^T of the largest case that runs here.
const MOST_PRODUCTS: usize = 1 << 24;
/// Random schedules of a case.
const SCHEDULES: u64 = 1;

#[test]
fn f16_conforms() {
    conforms::<f16>();
}

#[test]
fn bf16_conforms() {
    conforms::<bf16>();
}

fn conforms<E: KernelElement>() {
    let mut kernels: HashMap<FwdPlan, Kernel> = HashMap::new();
    let mut count = 0;
    for case in CASES.iter().chain(REPLAY).filter(|case| runs_here(case)) {
        let plan = choose(&problem::<E>(case), Gpu::of_capability(SM)).expect("a plan");
        let kernel = kernels
            .entry(plan)
            .or_insert_with(|| Kernel::new(plan, SM).expect("compiles and parses"));
        check::<E>(kernel, case);
        count += 1;
    }
    assert!(count > 40, "the grid shrank to {count} cases");
}

/// Cases that the kernel takes as they are, and that are small enough.
fn runs_here(case: &Case) -> bool {
    let empty = [case.batch, case.heads_q, case.seq_q].contains(&0);
    !empty && case.head_dim.is_multiple_of(8) && case.products() <= MOST_PRODUCTS
}

fn check<E: KernelElement>(kernel: &Kernel, case: &Case) {
    let qkv = inputs::generate::<E>(case, SEED);
    let run = kernel
        .forward(case, &qkv, SCHEDULES)
        .unwrap_or_else(|error| panic!("{case} [{}]: {error}", kernel.config()));
    let expected = Expected::of(case, &qkv);
    for (name, report) in [
        ("O", expected.output(&run.output)),
        ("LSE", expected.lse(&run.lse)),
    ] {
        assert!(
            report.passed,
            "{case} [{}], {name}: {report}",
            kernel.config()
        );
    }
}

/// Every stage count, and the article's own kernel, on lengths that fill and empty the ring.
#[test]
fn every_stage_count_conforms() {
    for causal in [Causal::None, Causal::BottomRight] {
        for stages in [1, 2, 3] {
            let tile = Tile {
                block_m: 64,
                block_n: 64,
                warps: 4,
                stages,
            };
            let case = |seq| Case::new("stages", 1, 1, seq, 64).causal(causal);
            let config = FwdConfig::new(f16::DTYPE, 64, problem::<f16>(&case(1)).mask.into(), tile)
                .expect("valid");
            for config in [
                config,
                config.with_row_copy(RowCopy::HalfRow).expect("valid"),
            ] {
                assert_eq!(config.columns(), Columns::Exact);
                let kernel = Kernel::new(FwdPlan { config, section: 1 }, SM).expect("compiles");
                for seq in [1, 64, 97, 200, 320] {
                    check::<f16>(&kernel, &case(seq));
                }
            }
        }
    }
}
