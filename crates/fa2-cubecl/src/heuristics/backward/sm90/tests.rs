//! The table holds its own rules, and each reason against a plan stands.

use super::{choose_backward_sm90, refusal_of_backward_sm90};
use crate::config::backward::{Instructions, QuerySums};
use crate::error::{ConfigError, Sm90Refusal};
use crate::heuristics::Gpu;
use crate::heuristics::sm90::MULTIPROCESSORS;
use crate::problem::{Alignment, Dtype, Mask, Problem};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn problem(head_dim: usize) -> Problem {
    Problem {
        batch: 2,
        heads_q: 4,
        heads_kv: 2,
        seq_q: 300,
        seq_k: 200,
        head_dim,
        dtype: Dtype::Bf16,
        mask: Mask::Causal(Alignment::BottomRight),
        scale: 0.1,
    }
}

fn hopper() -> Gpu {
    Gpu::of_capability(90)
}

#[test]
fn every_size_up_to_256_has_a_plan_and_no_larger_one() {
    for head_dim in (8..=256).step_by(8) {
        for sums in [QuerySums::Atomic, QuerySums::Ordered, QuerySums::Owned] {
            let plan = choose_backward_sm90(&problem(head_dim), hopper(), sums).unwrap();
            assert_eq!(plan.config.instructions(), Instructions::Sm90a);
            assert_eq!(plan.config.query_sums(), sums);
            assert_eq!(plan.queries.is_some(), sums == QuerySums::Owned);
            assert!(plan.config.shared_bytes() <= hopper().shared_bytes);
            assert_eq!(plan.config.shares_keys(), head_dim > 128);
        }
    }
    let refused = choose_backward_sm90(&problem(264), hopper(), QuerySums::Atomic);
    assert_eq!(refused, Err(ConfigError::HeadDim(264)));
}

#[test]
fn each_reason_against_a_plan_is_named() {
    let problem = problem(64);
    let plan = choose_backward_sm90(&problem, hopper(), QuerySums::Atomic).unwrap();
    let rows = |heads: usize, seq: usize| [heads * seq * 64, seq * 64, 64];
    let strides = [rows(4, 300), rows(2, 200), rows(2, 200), rows(4, 300)];
    let refusal = |strides, gpu| refusal_of_backward_sm90(&plan, &problem, strides, gpu);
    assert_eq!(refusal(strides, hopper()), None);
    for sm in [80, 100] {
        let gpu = Gpu::of_capability(sm);
        assert_eq!(refusal(strides, gpu), Some(Sm90Refusal::Capability(sm)));
    }
    let small = Gpu {
        shared_bytes: 99 << 10,
        ..hopper()
    };
    let bytes = plan.config.shared_bytes();
    let limit = small.shared_bytes;
    let expected = Some(Sm90Refusal::SharedMemory { bytes, limit });
    assert_eq!(refusal(strides, small), expected);
    for (tensor, name) in ["q", "k", "v", "d_o"].into_iter().enumerate() {
        for axis in 0..3 {
            // Repeated rows, and a stride that is too long.
            for (elements, bytes) in [(0, 0), (1 << 39, 1 << 40)] {
                let mut other = strides;
                other[tensor][axis] = elements;
                let expected = Some(Sm90Refusal::Stride {
                    tensor: name,
                    bytes,
                });
                assert_eq!(refusal(other, hopper()), expected);
            }
        }
    }
}

#[test]
fn strides_that_are_never_stepped_along_are_no_reason() {
    let one = Problem {
        batch: 1,
        heads_q: 1,
        heads_kv: 1,
        ..problem(64)
    };
    let plan = choose_backward_sm90(&one, hopper(), QuerySums::Atomic).unwrap();
    let strides = [[0, usize::MAX >> 8, 64]; 4];
    assert_eq!(
        refusal_of_backward_sm90(&plan, &one, strides, hopper()),
        None
    );
}

/// When the last of `cubes` ends, over the mean of all multiprocessors, where each starts the next one when it is free.
/// A cube's weight is its blocks of queries and `more` for what it does beside them.
fn imbalance(cubes: impl Iterator<Item = u32>, more: u32) -> f64 {
    let mut free = BinaryHeap::from([Reverse(0); MULTIPROCESSORS as usize]);
    let mut sum = 0;
    for cube in cubes {
        let Reverse(start) = free.pop().unwrap();
        free.push(Reverse(start + cube + more));
        sum += cube + more;
    }
    let end = free.iter().map(|Reverse(end)| *end).max().unwrap();
    f64::from(end) / (f64::from(sum) / f64::from(MULTIPROCESSORS))
}

#[test]
fn multiprocessors_end_together_under_a_causal_mask() {
    for head_dim in [64, 128] {
        for seq in [1024, 2048, 4096, 8192, 16384_usize] {
            let problem = Problem {
                batch: 16384 / seq,
                heads_q: 16,
                heads_kv: 16,
                seq_q: seq,
                seq_k: seq,
                mask: Mask::Causal(Alignment::BottomRight),
                ..problem(head_dim)
            };
            let plan = choose_backward_sm90(&problem, hopper(), QuerySums::Atomic).unwrap();
            let (block_m, block_n) = (plan.config.block_m(), plan.config.block_n());
            let blocks = seq as u32 / block_n;
            let heads = (problem.batch * problem.heads_kv) as u32;
            let cubes = (0..heads).step_by(plan.section as usize).flat_map(|first| {
                let section = plan.section.min(heads - first);
                let weight = move |block| (blocks - block) * block_n / block_m;
                (0..blocks * section).map(move |cube| weight(cube / section))
            });
            let imbalance = imbalance(cubes, 2);
            assert!(imbalance < 1.03, "{seq}: {imbalance}");
        }
    }
}

#[test]
fn sections_of_ordered_sums_have_heads_enough_for_a_gpu() {
    for mask in [Mask::None, Mask::Causal(Alignment::TopLeft)] {
        for (batch, heads_kv) in [(1, 1), (2, 4), (8, 8)] {
            let problem = Problem {
                batch,
                heads_kv,
                heads_q: heads_kv,
                mask,
                ..problem(64)
            };
            let ordered = choose_backward_sm90(&problem, hopper(), QuerySums::Ordered).unwrap();
            let heads = (batch * heads_kv) as u32;
            assert!(ordered.section >= heads.min(16), "{problem:?}");
            assert!(ordered.section <= heads, "{problem:?}");
        }
    }
}

#[test]
fn sections_of_ordered_sums_of_large_heads_fit_the_cache() {
    let section = |head_dim, seq_q, mask| {
        let problem = Problem {
            batch: 8,
            heads_q: 8,
            heads_kv: 8,
            seq_q,
            mask,
            ..problem(head_dim)
        };
        let plan = choose_backward_sm90(&problem, hopper(), QuerySums::Ordered).unwrap();
        plan.section
    };
    for head_dim in [192, 256] {
        assert_eq!(section(head_dim, 1024, Mask::None), 16);
        assert_eq!(section(head_dim, 2048, Mask::None), 4);
        assert!(section(head_dim, 2048, Mask::Causal(Alignment::TopLeft)) >= 16);
    }
}
