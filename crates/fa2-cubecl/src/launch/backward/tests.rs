//! What a forced plan must fulfil, broken once each.

use super::{forced, sm90};
use crate::config::backward::{BwdConfig, Instructions, Loads, QuerySums};
use crate::config::{FwdConfig, Tile};
use crate::error::{ConfigError, Fa2Error};
use crate::heuristics::backward::sm90::choose_backward_sm90;
use crate::heuristics::backward::{BwdPlan, choose_backward};
use crate::heuristics::{FwdPlan, Gpu};
use crate::problem::{Alignment, Dtype, Mask, Problem};

fn problem() -> Problem {
    Problem {
        batch: 1,
        heads_q: 2,
        heads_kv: 1,
        seq_q: 100,
        seq_k: 70,
        head_dim: 128,
        dtype: Dtype::F16,
        mask: Mask::None,
        scale: 1.0,
    }
}

fn plan(query_sums: QuerySums, sm: u32) -> BwdPlan {
    choose_backward(&problem(), Gpu::of_capability(sm), query_sums).unwrap()
}

fn refusal(plan: BwdPlan, problem: &Problem, query_sums: QuerySums, sm: u32) -> Fa2Error {
    forced(plan, problem, query_sums, Gpu::of_capability(sm)).unwrap_err()
}

#[test]
fn a_chosen_plan_may_be_forced() {
    for sm in [80, 89, 90] {
        for sums in [QuerySums::Atomic, QuerySums::Owned] {
            let plan = plan(sums, sm);
            let gpu = Gpu::of_capability(sm);
            assert_eq!(forced(plan, &problem(), sums, gpu), Ok(plan));
        }
    }
}

#[test]
fn a_chosen_plan_of_warpgroups_may_be_forced() {
    let gpu = Gpu::of_capability(90);
    for sums in [QuerySums::Atomic, QuerySums::Ordered, QuerySums::Owned] {
        for (head_dim, loads) in [
            (128, Loads::Thread),
            (128, Loads::Warpgroup),
            (256, Loads::Thread),
        ] {
            let problem = Problem {
                head_dim,
                ..problem()
            };
            let chosen = choose_backward_sm90(&problem, gpu, sums).unwrap();
            let plan = BwdPlan {
                config: chosen.config.with_loads(loads),
                ..chosen
            };
            assert_eq!(forced(plan, &problem, sums, gpu), Ok(plan));
        }
    }
}

#[test]
fn only_mapped_tensors_get_strides_that_a_map_takes() {
    let one = Problem {
        heads_q: 1,
        ..problem()
    };
    let mapped = sm90::mapped(&one, [[0, 1, 128]; 8]);
    for (tensor, strides) in mapped.into_iter().enumerate() {
        match tensor {
            0 | 1 | 2 | 4 => assert_eq!(strides, [8, 8, 128], "tensor {tensor}"),
            _ => assert_eq!(strides, [0, 1, 128], "tensor {tensor}"),
        }
    }
}

#[test]
fn a_plan_for_another_problem_is_refused() {
    let causal = Problem {
        mask: Mask::Causal(Alignment::TopLeft),
        ..problem()
    };
    let narrow = Problem {
        head_dim: 64,
        ..problem()
    };
    let atomic = plan(QuerySums::Atomic, 80);
    for problem in [causal, narrow] {
        let refusal = refusal(atomic, &problem, QuerySums::Atomic, 80);
        assert!(matches!(refusal, Fa2Error::Mismatch { .. }), "{refusal}");
    }
    // Bits that may differ, where the same were asked for.
    let refusal = refusal(atomic, &problem(), QuerySums::Owned, 80);
    assert!(matches!(refusal, Fa2Error::Mismatch { .. }), "{refusal}");
}

#[test]
fn sums_in_order_are_refused_where_no_thread_keeps_turns() {
    for sm in [80, 90] {
        let gpu = Gpu::of_capability(sm);
        let chosen = choose_backward(&problem(), gpu, QuerySums::Ordered);
        assert_eq!(chosen, Err(ConfigError::OrderedSums));
        let unordered = plan(QuerySums::Atomic, sm);
        let config = unordered.config.with_query_sums(QuerySums::Ordered);
        let refusal = refusal(
            BwdPlan {
                config,
                ..unordered
            },
            &problem(),
            QuerySums::Ordered,
            sm,
        );
        assert_eq!(refusal, Fa2Error::Config(ConfigError::OrderedSums));
    }
}

#[test]
fn sums_without_an_owner_are_refused() {
    let plan = BwdPlan {
        queries: None,
        ..plan(QuerySums::Owned, 80)
    };
    let refusal = refusal(plan, &problem(), QuerySums::Owned, 80);
    assert!(matches!(refusal, Fa2Error::Mismatch { .. }), "{refusal}");
}

#[test]
fn sm90_instructions_are_refused_before_sm90() {
    let plan = plan(QuerySums::Atomic, 90);
    assert_eq!(plan.config.instructions(), Instructions::Sm90);
    let expected = Fa2Error::Config(ConfigError::Instructions(80));
    assert_eq!(refusal(plan, &problem(), QuerySums::Atomic, 80), expected);
}

#[test]
fn a_pass_of_one_stage_is_refused() {
    let tile = Tile {
        block_m: 64,
        block_n: 32,
        warps: 4,
        stages: 1,
    };
    let config = FwdConfig::new(Dtype::F16, 128, Mask::None.into(), tile).unwrap();
    let plan = BwdPlan {
        queries: Some(FwdPlan { config, section: 1 }),
        ..plan(QuerySums::Owned, 80)
    };
    let expected = Fa2Error::Config(ConfigError::QueryStages(1));
    assert_eq!(refusal(plan, &problem(), QuerySums::Owned, 80), expected);
}

#[test]
fn shared_memory_that_the_gpu_does_not_have_is_refused() {
    let large = plan(QuerySums::Atomic, 80);
    let bytes = BwdConfig::shared_bytes(&large.config);
    let limit = 99 << 10;
    assert!(bytes > limit);
    let expected = Fa2Error::Config(ConfigError::SharedMemory { bytes, limit });
    assert_eq!(refusal(large, &problem(), QuerySums::Atomic, 89), expected);
}
