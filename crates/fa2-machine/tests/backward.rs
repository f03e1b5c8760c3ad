//! The gradients of the conformance grid on the real PTX, without a GPU: right against the f64 oracle,
//! and clean under every check of the machine.

use fa2_cubecl::{BwdPlan, Gpu, QuerySums, choose_backward};
use fa2_machine::{BackwardInputs, BackwardKernels, KernelElement, problem};
use fa2_testing::gradient::Operands;
use fa2_testing::{CASES, Case, ExpectedGradients, REPLAY, Stored, inputs, oracle};
use half::{bf16, f16};
use std::collections::HashMap;

const SM: u32 = 80;
const SEED: u64 = 20;
/// Multiplications of Q K^T and P V of the largest case that runs here.
const MOST_PRODUCTS: usize = 1 << 23;
/// Random schedules of a case.
const SCHEDULES: u64 = 1;

#[test]
fn f16_conforms() {
    conforms::<f16>(QuerySums::Atomic);
}

#[test]
fn bf16_conforms() {
    conforms::<bf16>(QuerySums::Atomic);
}

#[test]
fn f16_conforms_without_atomics() {
    conforms::<f16>(QuerySums::Owned);
}

#[test]
fn bf16_conforms_without_atomics() {
    conforms::<bf16>(QuerySums::Owned);
}

fn conforms<E: KernelElement>(query_sums: QuerySums) {
    let mut kernels: HashMap<BwdPlan, BackwardKernels> = HashMap::new();
    let mut count = 0;
    for case in CASES.iter().chain(REPLAY).filter(|case| runs_here(case)) {
        let gpu = Gpu::of_capability(SM);
        let plan = choose_backward(&problem::<E>(case), gpu, query_sums).expect("a plan");
        let kernels = kernels
            .entry(plan)
            .or_insert_with(|| BackwardKernels::new(plan, SM).expect("compiles and parses"));
        check::<E>(kernels, case);
        count += 1;
    }
    assert!(count > 40, "the grid shrank to {count} cases");
}

/// Cases that the kernels take as they are, and that are small enough.
fn runs_here(case: &Case) -> bool {
    let empty = [case.batch, case.heads_q, case.seq_q].contains(&0);
    !empty && case.head_dim.is_multiple_of(8) && case.products() <= MOST_PRODUCTS
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
    let kernels = BackwardKernels::chosen::<f16>(&case, QuerySums::Atomic, SM).expect("compiles");
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
        .causal(fa2_testing::Causal::BottomRight);
    let kernels = BackwardKernels::chosen::<f16>(&case, QuerySums::Atomic, SM).expect("compiles");
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
