//! What the machine's checks and measures say of the kernels as they are, and of broken ones.

use crate::support::{SM80, SM89, SM90, inputs_of};
use fa2_cubecl::QuerySums;
use fa2_cubecl::offline::backward::BwdKernel;
use fa2_machine::{BackwardKernels, Error};
use fa2_testing::{Case, Causal};
use half::f16;
use ptx_machine::LaunchError;
use ptx_machine::module::Op;

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
