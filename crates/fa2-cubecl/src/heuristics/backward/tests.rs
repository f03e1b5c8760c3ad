//! Every problem has a plan that fits its GPU.

use super::{choose_backward, query_shared_bytes};
use crate::config::backward::{Instructions, QuerySums};
use crate::heuristics::{FwdPlan, Gpu, SECTION_BYTES};
use crate::problem::{Alignment, Dtype, Mask, Problem};

fn problems() -> impl Iterator<Item = Problem> {
    let masks = [Mask::None, Mask::Causal(Alignment::BottomRight)];
    (1..=32).flat_map(move |chunks| {
        masks.into_iter().flat_map(move |mask| {
            [1, 300, 4096, 100_000].map(|seq| Problem {
                batch: 2,
                heads_q: 12,
                heads_kv: 4,
                seq_q: seq,
                seq_k: seq,
                head_dim: 8 * chunks,
                dtype: Dtype::Bf16,
                mask,
                scale: 0.125,
            })
        })
    })
}

#[test]
fn every_problem_gets_a_plan_that_fits_its_gpu_and_uses_what_it_has() {
    for problem in problems() {
        for sm in [80, 86, 89, 90, 100, 120] {
            let gpu = Gpu::of_capability(sm);
            for sums in [QuerySums::Atomic, QuerySums::Owned] {
                let plan = choose_backward(&problem, gpu, sums).unwrap();
                let config = plan.config;
                assert!(config.shared_bytes() <= gpu.shared_bytes, "{config}");
                assert_eq!(plan.queries.is_some(), sums == QuerySums::Owned);
                if let Some(FwdPlan { config, .. }) = plan.queries {
                    assert!(query_shared_bytes(&config) <= gpu.shared_bytes, "{config}");
                    assert!(config.stages() >= 2, "{config}");
                    assert!(config.head_dim() as usize >= problem.head_dim);
                }
                assert_eq!(config.query_sums(), sums);
                assert_eq!(config.instructions() == Instructions::Sm90, sm >= 90);
                assert_eq!(config.dtype(), problem.dtype);
                assert_eq!(config.mask(), problem.mask.into());
                assert!(config.head_dim() as usize >= problem.head_dim);
            }
        }
    }
}

#[test]
fn two_cubes_of_64_columns_share_a_multiprocessor_or_one_has_twice_the_warps() {
    for problem in problems().filter(|problem| problem.head_dim == 64) {
        for sm in [80, 86, 89, 90] {
            let gpu = Gpu::of_capability(sm);
            let config = choose_backward(&problem, gpu, QuerySums::Atomic)
                .unwrap()
                .config;
            let cubes = (gpu.shared_bytes + 1024) / (config.shared_bytes() + 1024);
            assert_eq!(cubes.min(2) * config.threads(), 256, "SM{sm}");
        }
    }
}

#[test]
fn sections_fit_their_share_of_l2_unless_one_head_does_not() {
    for problem in problems() {
        let plan = choose_backward(&problem, Gpu::of_capability(90), QuerySums::Atomic).unwrap();
        let section = plan.section as usize;
        assert!((1..=problem.heads_kv).contains(&section));
        match problem.mask {
            Mask::None => assert_eq!(section, 1),
            Mask::Causal(_) => {
                let head = 8 * problem.group_size() * problem.seq_q * problem.head_dim;
                assert!(section == 1 || section * head <= SECTION_BYTES);
            }
        }
    }
}
