//! Every problem gets a plan for SM90 that its GPU can run, and what is refused is told.

use super::{FwdSm90Plan, MULTIPROCESSORS, choose_sm90, refusal_of_sm90, unmappable_stride};
use crate::error::Sm90Refusal;
use crate::heuristics::Gpu;
use crate::problem::{Alignment, Dtype, Mask, Problem};

/// A stride that any map holds, in elements.
const STRIDE: usize = 256;

fn problem(head_dim: usize, mask: Mask) -> Problem {
    Problem {
        batch: 2,
        heads_q: 8,
        heads_kv: 4,
        seq_q: 333,
        seq_k: 777,
        head_dim,
        dtype: Dtype::Bf16,
        mask,
        scale: 0.125,
    }
}

fn refusal(problem: &Problem, strides: [[usize; 3]; 3], sm: u32) -> Option<Sm90Refusal> {
    let plan = choose_sm90(problem).unwrap();
    refusal_of_sm90(&plan, problem, strides, Gpu::of_capability(sm))
}

#[test]
fn every_head_size_and_mask_is_served_on_sm90() {
    for head_dim in (8..=256).step_by(8) {
        for mask in [
            Mask::None,
            Mask::Causal(Alignment::BottomRight),
            Mask::Causal(Alignment::TopLeft),
        ] {
            let problem = problem(head_dim, mask);
            assert_eq!(refusal(&problem, [[STRIDE; 3]; 3], 90), None, "{problem:?}");
        }
    }
}

#[test]
fn a_causal_mask_over_few_keys_takes_two_warpgroups() {
    let causal = Mask::Causal(Alignment::BottomRight);
    for (columns, mask, seq_k, block_m) in [
        (64, causal, 1024, 128),
        (64, causal, 1025, 192),
        (64, Mask::None, 512, 192),
        (128, causal, 4096, 128),
    ] {
        let problem = Problem {
            seq_k,
            ..problem(columns, mask)
        };
        let config = choose_sm90(&problem).unwrap().config;
        assert_eq!(config.block_m(), block_m, "{problem:?}");
    }
}

#[test]
fn sections_of_a_causal_mask_have_the_blocks_of_whole_waves() {
    for (head_dim, waves) in [(64, 2), (128, 1), (256, 1)] {
        for (heads_q, heads_kv) in [(16, 16), (16, 4), (15, 3)] {
            for seq in [1, 500, 2048, 4096, 40_000] {
                let problem = Problem {
                    batch: 4,
                    heads_q,
                    heads_kv,
                    seq_q: seq,
                    seq_k: seq,
                    ..problem(head_dim, Mask::Causal(Alignment::BottomRight))
                };
                let plan = choose_sm90(&problem).unwrap();
                let group = problem.group_size() as u32;
                assert!(plan.section.is_multiple_of(group), "{problem:?}");
                let heads = (problem.batch * heads_q) as u32;
                let cubes = |section| section * (seq as u32).div_ceil(plan.config.block_m());
                let limit = waves * MULTIPROCESSORS;
                assert!(
                    plan.section == group || cubes(plan.section) <= limit,
                    "{problem:?}"
                );
                assert!(
                    plan.section == heads || cubes(plan.section + group) > limit,
                    "{problem:?}"
                );
            }
        }
    }
    let plan = choose_sm90(&problem(128, Mask::None)).unwrap();
    assert_eq!(plan.section, 1);
}

#[test]
fn other_capabilities_are_refused_newer_ones_too() {
    let problem = problem(64, Mask::None);
    for sm in [80, 86, 89, 100, 103, 120] {
        let refused = Some(Sm90Refusal::Capability(sm));
        assert_eq!(refusal(&problem, [[STRIDE; 3]; 3], sm), refused);
    }
}

#[test]
fn tiles_that_do_not_fit_are_refused() {
    let problem = problem(256, Mask::None);
    let plan: FwdSm90Plan = choose_sm90(&problem).unwrap();
    let gpu = Gpu {
        sm: 90,
        shared_bytes: 99 * 1024,
    };
    assert_eq!(
        refusal_of_sm90(&plan, &problem, [[STRIDE; 3]; 3], gpu),
        Some(Sm90Refusal::SharedMemory {
            bytes: plan.config.shared_bytes(),
            limit: gpu.shared_bytes
        })
    );
}

#[test]
fn strides_that_a_map_can_not_hold_are_refused_by_tensor() {
    let problem = problem(64, Mask::None);
    let limit = 1 << 39; // Elements of 2^40 bytes.
    for (at, tensor) in ["q", "k", "v"].into_iter().enumerate() {
        for axis in 0..3 {
            for (stride, bytes) in [(0, 0), (limit, 1 << 40)] {
                let mut strides = [[STRIDE; 3]; 3];
                strides[at][axis] = stride;
                let refused = Some(Sm90Refusal::Stride { tensor, bytes });
                assert_eq!(refusal(&problem, strides, 90), refused);
            }
        }
    }
}

#[test]
fn stride_of_a_single_entry_says_nothing() {
    assert_eq!(unmappable_stride([1, 1, 1], [0; 3]), None);
    assert_eq!(unmappable_stride([1, 2, 1], [0, 8, 0]), None);
    assert_eq!(unmappable_stride([1, 2, 2], [0, 0, 8]), Some(0));
    assert_eq!(unmappable_stride([2, 1, 1], [1 << 39, 0, 0]), Some(1 << 40));
    assert_eq!(unmappable_stride([2, 1, 1], [(1 << 39) - 8, 0, 0]), None);
}

#[test]
fn strides_of_a_tensor_without_elements_say_nothing() {
    assert_eq!(unmappable_stride([2, 3, 0], [0; 3]), None);
    assert_eq!(unmappable_stride([0, 3, 5], [1 << 40, 0, 8]), None);
}
