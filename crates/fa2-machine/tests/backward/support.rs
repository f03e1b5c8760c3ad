//! What the tests of the backward share: inputs with their oracle, and a judgement.

use fa2_machine::{BackwardInputs, BackwardKernels, KernelElement};
use fa2_testing::gradient::Operands;
use fa2_testing::{Case, ExpectedGradients, Stored, inputs, oracle};

/// An A100, whose tiles the full grid runs; a GPU with little shared memory; one with `stmatrix`.
pub(crate) const SM80: u32 = 80;
pub(crate) const SM89: u32 = 89;
pub(crate) const SM90: u32 = 90;
/// Random schedules of a case.
pub(crate) const SCHEDULES: u64 = 1;
const SEED: u64 = 20;

/// What a backward pass of `case` reads: O and LSE from the oracle, rounded.
pub(crate) fn inputs_of<E: KernelElement>(case: &Case) -> (BackwardInputs<E>, Operands<E>) {
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

/// Runs and judges a case.
pub(crate) fn check<E: KernelElement>(kernels: &BackwardKernels, case: &Case) {
    let (inputs, operands) = inputs_of::<E>(case);
    let run = kernels
        .backward(case, &inputs, SCHEDULES)
        .unwrap_or_else(|error| panic!("{case} [{}]: {error}", kernels.config()));
    let expected = ExpectedGradients::new(case, &operands);
    if let Err(wrong) = expected.judge(&run.d_q, &run.d_k, &run.d_v) {
        panic!("{case} [{}]: {wrong}", kernels.config());
    }
}
