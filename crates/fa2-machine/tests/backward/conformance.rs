//! The gradients of the conformance grid: right against the f64 oracle, and clean under every check.

use crate::support::{SCHEDULES, SM80, SM89, SM90, check, inputs_of};
use fa2_cubecl::{BwdConfig, BwdPlan, BwdTile, Gpu, HEAD_DIMS, QuerySums, choose_backward};
use fa2_machine::{BackwardKernels, KernelElement, problem};
use fa2_testing::{CASES, Case, Causal, ExpectedGradients, REPLAY, Stored};
use half::{bf16, f16};
use std::collections::HashMap;

/// Multiplications of Q K^T and P V of the largest case that runs here ...
const MOST_PRODUCTS: usize = 1 << 23;
/// ... and where the case runs on other tiles too.
const FEW_PRODUCTS: usize = 1 << 21;

#[test]
fn f16_conforms() {
    assert!(conforms::<f16>(QuerySums::Atomic, SM80, MOST_PRODUCTS) > 40);
}

#[test]
fn bf16_conforms() {
    assert!(conforms::<bf16>(QuerySums::Atomic, SM80, MOST_PRODUCTS) > 40);
}

#[test]
fn f16_conforms_without_atomics() {
    assert!(conforms::<f16>(QuerySums::Owned, SM80, MOST_PRODUCTS) > 40);
}

#[test]
fn bf16_conforms_without_atomics() {
    assert!(conforms::<bf16>(QuerySums::Owned, SM80, FEW_PRODUCTS) > 20);
}

#[test]
fn tiles_for_little_shared_memory_conform() {
    assert!(conforms::<f16>(QuerySums::Atomic, SM89, FEW_PRODUCTS) > 20);
    assert!(conforms::<bf16>(QuerySums::Owned, SM89, FEW_PRODUCTS) > 20);
}

#[test]
fn stores_by_stmatrix_conform() {
    assert!(conforms::<bf16>(QuerySums::Atomic, SM90, FEW_PRODUCTS) > 20);
    assert!(conforms::<f16>(QuerySums::Owned, SM90, FEW_PRODUCTS) > 20);
}

/// Checks every case of up to `most_products`, and counts them.
fn conforms<E: KernelElement>(query_sums: QuerySums, sm: u32, most_products: usize) -> usize {
    let mut kernels: HashMap<BwdPlan, BackwardKernels> = HashMap::new();
    let mut count = 0;
    let cases = CASES.iter().chain(REPLAY);
    for case in cases.filter(|case| is_served(case) && case.products() <= most_products) {
        let gpu = Gpu::of_capability(sm);
        let plan = choose_backward(&problem::<E>(case), gpu, query_sums).expect("a plan");
        let kernels = kernels
            .entry(plan)
            .or_insert_with(|| BackwardKernels::new(plan, sm).expect("compiles and parses"));
        check::<E>(kernels, case);
        count += 1;
    }
    count
}

/// Cases that the kernels take as they are.
fn is_served(case: &Case) -> bool {
    let empty = [case.batch, case.heads_q, case.seq_q].contains(&0);
    !empty && case.head_dim.is_multiple_of(8)
}

/// `sum().backward()` gives one element with strides of 0; here a row for all rows.
#[test]
fn d_o_may_be_one_row_for_all() {
    let case = Case::new("one-row", 2, 4, 70, 64).kv_heads(2);
    let kernels = BackwardKernels::chosen::<f16>(&case, QuerySums::Atomic, SM80).expect("compiles");
    let (mut inputs, mut operands) = inputs_of::<f16>(&case);
    let row: Vec<f16> = operands.d_o[..64].to_vec();
    operands.d_o = row.repeat(2 * 4 * 70);
    operands.d_lse = None;
    inputs.d_lse = None;
    inputs.d_o = Stored {
        data: row,
        shape: case.shape_q(),
        strides: [0, 0, 0, 1],
    };
    let run = kernels.backward(&case, &inputs, SCHEDULES).expect("clean");
    let expected = ExpectedGradients::new(&case, &operands);
    assert_eq!(expected.judge(&run.d_q, &run.d_k, &run.d_v), Ok(()));
}

/// Rows that see no key have zero gradients, whatever the gradient of their LSE is.
#[test]
fn blind_rows_ignore_the_gradient_of_their_lse() {
    let case = Case::new("blind", 1, 2, 97, 64)
        .keys(64)
        .causal(Causal::BottomRight);
    let kernels = BackwardKernels::chosen::<f16>(&case, QuerySums::Atomic, SM80).expect("compiles");
    let (mut inputs, operands) = inputs_of::<f16>(&case);
    for (d_lse, lse) in inputs.d_lse.iter_mut().flatten().zip(&inputs.lse) {
        if *lse == f32::NEG_INFINITY {
            *d_lse = f32::NAN;
        }
    }
    let run = kernels.backward(&case, &inputs, SCHEDULES).expect("clean");
    let expected = ExpectedGradients::new(&case, &operands);
    assert_eq!(expected.judge(&run.d_q, &run.d_k, &run.d_v), Ok(()));
    assert!(run.d_q[..33 * 64].iter().all(|value| value.to_f64() == 0.0));
}

/// The main grid has no small case with a causal mask for every head size.
#[test]
fn every_head_size_conforms_under_both_diagonals() {
    for head_dim in HEAD_DIMS {
        for causal in [Causal::BottomRight, Causal::TopLeft] {
            let case = Case::new("causal", 1, 2, 97, head_dim as usize)
                .kv_heads(1)
                .keys(130)
                .causal(causal);
            for (query_sums, sm) in [
                (QuerySums::Atomic, SM80),
                (QuerySums::Owned, SM89),
                (QuerySums::Atomic, SM90),
            ] {
                let kernels =
                    BackwardKernels::chosen::<bf16>(&case, query_sums, sm).expect("compiles");
                check::<bf16>(&kernels, &case);
            }
        }
    }
}

/// Tiles that no heuristic chooses: every arrangement of warps, blocks and stages in which the kernel has
/// another shape.
#[test]
fn forced_tiles_conform() {
    let tile = BwdTile {
        block_m: 64,
        block_n: 64,
        warps: 4,
        warps_n: 1,
        warps_dq: 2,
        stages: 1,
    };
    let tiles = [
        tile,
        BwdTile { stages: 2, ..tile },
        // All of dQ's warps along its queries, or along its columns.
        BwdTile {
            warps_dq: 4,
            ..tile
        },
        BwdTile {
            block_m: 32,
            warps_dq: 1,
            ..tile
        },
        BwdTile { warps: 2, ..tile },
        BwdTile {
            block_n: 32,
            warps: 2,
            warps_n: 2,
            ..tile
        },
        BwdTile {
            block_m: 128,
            warps: 2,
            warps_n: 4,
            warps_dq: 4,
            ..tile
        },
        BwdTile {
            block_m: 128,
            block_n: 128,
            warps: 8,
            stages: 2,
            ..tile
        },
    ];
    for tile in tiles {
        for causal in [Causal::None, Causal::BottomRight] {
            let case = Case::new("forced", 1, 4, 1, 64).kv_heads(2).causal(causal);
            let mask = problem::<f16>(&case).mask.into();
            let config = BwdConfig::new(f16::DTYPE, 64, mask, tile).expect("valid");
            let plan = BwdPlan {
                config,
                section: 2,
                queries: None,
            };
            let kernels = BackwardKernels::new(plan, SM80).expect("compiles");
            for (seq_q, seq_k) in [(1, 1), (64, 64), (97, 130), (130, 65)] {
                check::<f16>(&kernels, &Case { seq_q, ..case }.keys(seq_k));
            }
        }
    }
}
