//! The gradients of the conformance grid on the real PTX, without a GPU: right against the f64 oracle,
//! and clean under every check of the machine.

use fa2_cubecl::offline::backward::BwdKernel;
use fa2_cubecl::{BwdConfig, BwdPlan, BwdTile, Gpu, QuerySums, choose_backward};
use fa2_machine::{BackwardInputs, BackwardKernels, Error, KernelElement, problem};
use fa2_testing::gradient::Operands;
use fa2_testing::{CASES, Case, Causal, ExpectedGradients, REPLAY, Stored, inputs, oracle};
use half::{bf16, f16};
use ptx_machine::LaunchError;
use ptx_machine::module::Op;
use std::collections::HashMap;

/// An A100, whose tiles the full grid runs; a GPU with little shared memory; one with `stmatrix`.
const SM80: u32 = 80;
const SM89: u32 = 89;
const SM90: u32 = 90;
const SEED: u64 = 20;
/// Multiplications of Q K^T and P V of the largest case that runs here ...
const MOST_PRODUCTS: usize = 1 << 23;
/// ... and where the case runs on other tiles too.
const FEW_PRODUCTS: usize = 1 << 21;
/// Random schedules of a case.
const SCHEDULES: u64 = 1;

#[test]
fn f16_conforms() {
    assert!(conforms::<f16>(QuerySums::Atomic, SM80, MOST_PRODUCTS) > 60);
}

#[test]
fn bf16_conforms() {
    assert!(conforms::<bf16>(QuerySums::Atomic, SM80, MOST_PRODUCTS) > 60);
}

#[test]
fn f16_conforms_without_atomics() {
    assert!(conforms::<f16>(QuerySums::Owned, SM80, MOST_PRODUCTS) > 60);
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

/// What a backward pass of `case` reads: O and LSE from the oracle, rounded.
fn inputs_of<E: KernelElement>(case: &Case) -> (BackwardInputs<E>, Operands<E>) {
    let qkv = inputs::generate::<E>(case, SEED);
    let d_o = inputs::generate::<E>(case, SEED + 1).q;
    let [q, k, v] = qkv.logical();
    let forward = oracle::attention(case, &q, &k, &v);
    let o = Stored::new(&forward.output, case.shape_q(), case.storage);
    let lse: Vec<f32> = forward.lse.iter().map(|lse| *lse as f32).collect();
    // A gradient of the LSE of every size.
    let d_lse: Vec<f32> = (0..lse.len()).map(|i| (i as f32 * 0.7).sin()).collect();
    let operands = Operands::new(&qkv, d_o.logical(), Some(d_lse.clone()));
    let inputs = BackwardInputs {
        qkv,
        o,
        lse,
        d_o,
        d_lse: Some(d_lse),
    };
    (inputs, operands)
}

fn check<E: KernelElement>(kernels: &BackwardKernels, case: &Case) {
    let (inputs, operands) = inputs_of::<E>(case);
    let run = kernels
        .backward(case, &inputs, SCHEDULES)
        .unwrap_or_else(|error| panic!("{case} [{}]: {error}", kernels.config()));
    let expected = ExpectedGradients::new(case, &operands);
    if let Err(wrong) = expected.judge(&run.d_q, &run.d_k, &run.d_v) {
        panic!("{case} [{}]: {wrong}", kernels.config());
    }
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

/// Each seed lets warps take turns in another order. Blocks that add to dQ run one after another here, so
/// what is left to differ is within a block; on a GPU dQ differs where it has sums.
#[test]
fn no_schedule_of_warps_changes_a_bit() {
    let case = Case::new("repeat", 1, 2, 150, 64)
        .kv_heads(1)
        .causal(Causal::BottomRight);
    for (query_sums, sm) in [
        (QuerySums::Atomic, SM80),
        (QuerySums::Owned, SM80),
        (QuerySums::Owned, SM89),
        (QuerySums::Owned, SM90),
    ] {
        let kernels = BackwardKernels::chosen::<f16>(&case, query_sums, sm).expect("compiles");
        let (inputs, _) = inputs_of::<f16>(&case);
        kernels.backward(&case, &inputs, 12).expect("the same bits");
    }
}

/// dK and dV do not depend on who sums up dQ.
#[test]
fn keys_and_values_have_the_same_gradients_with_and_without_atomics() {
    let case = Case::new("both", 1, 2, 130, 128).causal(Causal::BottomRight);
    let (inputs, _) = inputs_of::<f16>(&case);
    let [atomic, owned] = [QuerySums::Atomic, QuerySums::Owned].map(|query_sums| {
        let kernels = BackwardKernels::chosen::<f16>(&case, query_sums, SM80).expect("compiles");
        kernels.backward(&case, &inputs, 0).expect("clean")
    });
    assert_eq!(atomic.d_k, owned.d_k);
    assert_eq!(atomic.d_v, owned.d_v);
}

/// Every barrier of the main kernel, removed by itself: a race, or a read of a copy in flight.
#[test]
fn every_barrier_is_needed() {
    for (head_dim, sm) in [(64, SM80), (128, SM80), (128, SM89)] {
        let case = Case::new("barriers", 1, 1, 150, head_dim);
        let (inputs, _) = inputs_of::<f16>(&case);
        let kernels =
            BackwardKernels::chosen::<f16>(&case, QuerySums::Atomic, sm).expect("compiles");
        let barriers = |kernels: &mut BackwardKernels| {
            let code = &mut kernels.module_mut(BwdKernel::Keys).kernels[0].code;
            let positions = code.iter().enumerate();
            positions
                .filter(|(_, instruction)| instruction.name.starts_with("bar.sync"))
                .map(|(at, _)| at)
                .collect::<Vec<_>>()
        };
        let all = barriers(&mut kernels.clone());
        assert!(all.len() >= 4, "{} barriers", all.len());
        for at in all {
            let mut broken = kernels.clone();
            broken.module_mut(BwdKernel::Keys).kernels[0].code[at].op = Op::Fence;
            let found = broken.backward(&case, &inputs, 4);
            assert!(
                matches!(found, Err(Error::Launch(LaunchError::Violations(_)))),
                "D = {head_dim}, sm_{sm}: the barrier at {at} can go and nobody sees it"
            );
        }
    }
}

/// Additions to dQ are whole 128-byte lines, and no access of shared memory has a bank conflict.
#[test]
fn additions_are_coalesced_and_shared_memory_has_no_conflict() {
    for (head_dim, sm) in [(64, SM80), (64, SM89), (128, SM80), (96, SM80), (64, SM90)] {
        let case = Case::new("traffic", 1, 1, 128, head_dim);
        let (inputs, _) = inputs_of::<f16>(&case);
        let kernels =
            BackwardKernels::chosen::<f16>(&case, QuerySums::Atomic, sm).expect("compiles");
        let run = kernels.backward(&case, &inputs, 0).expect("clean");
        let (_, keys) = run
            .measures
            .iter()
            .find(|(kernel, _)| *kernel == BwdKernel::Keys)
            .expect("it ran");
        for prefix in [
            "ldmatrix",
            "cp.async.cg",
            "st.shared",
            "ld.shared",
            "stmatrix",
        ] {
            assert_eq!(
                keys.bank_conflicts(prefix),
                0,
                "D = {head_dim}, sm_{sm}: {prefix}"
            );
        }
        let additions: Vec<_> = keys
            .instructions
            .values()
            .filter(|one| one.name.starts_with("red."))
            .collect();
        assert!(!additions.is_empty());
        for one in additions {
            assert_eq!(one.sectors, one.sectors_minimum, "D = {head_dim}, sm_{sm}");
        }
    }
}
