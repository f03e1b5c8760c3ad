//! One row is a problem for every kernel that could be chosen.

use super::{backward_row, forward_row};
use crate::config::backward::QuerySums;
use crate::heuristics::backward::choose_backward;
use crate::heuristics::backward::sm90::choose_backward_sm90;
use crate::heuristics::{FwdPlan, Gpu, choose};
use crate::launch::backward::forced;
use crate::problem::{Alignment, Dtype, Mask, Problem};

fn problems() -> impl Iterator<Item = Problem> {
    let masks = [Mask::None, Mask::Causal(Alignment::BottomRight)];
    (1..=32).flat_map(move |chunks| {
        masks.map(|mask| Problem {
            batch: 2,
            heads_q: 4,
            heads_kv: 2,
            seq_q: 1000,
            seq_k: 3000,
            head_dim: 8 * chunks,
            dtype: Dtype::Bf16,
            mask,
            scale: 0.125,
        })
    })
}

#[test]
fn a_backward_plan_is_compiled_on_a_row_that_it_may_be_forced_on() {
    let gpu = Gpu::of_capability(90);
    for problem in problems() {
        for sums in [QuerySums::Atomic, QuerySums::Ordered, QuerySums::Owned] {
            let chosen = [
                choose_backward(&problem, gpu, sums),
                choose_backward_sm90(&problem, gpu, sums),
            ];
            assert_eq!(chosen[0].is_ok(), sums != QuerySums::Ordered);
            for plan in chosen.into_iter().flatten() {
                let queries = plan.queries.map(|pass| pass.config);
                let row = backward_row(&plan.config, queries.as_ref());
                assert_eq!(row.validate(), Ok(()));
                assert_eq!(forced(plan, &row, sums, gpu), Ok(plan), "{problem:?}");
            }
        }
    }
}

#[test]
fn a_forward_plan_is_compiled_on_a_row_that_it_is_chosen_for() {
    let gpu = Gpu::of_capability(90);
    for problem in problems() {
        let FwdPlan { config, .. } = choose(&problem, gpu).unwrap();
        let row = forward_row(&config);
        assert_eq!(choose(&row, gpu).unwrap().config, config, "{problem:?}");
    }
}
