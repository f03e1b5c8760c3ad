//! Every problem gets a plan that its GPU can run.

use super::{Gpu, SECTION_BYTES, choose, tiles};
use crate::config::FwdConfig;
use crate::problem::{Alignment, Dtype, Mask, Problem};

const KIB: u32 = 1024;
/// Compute capability and shared memory of a cube, from the CUDA programming guide.
const GPUS: [Gpu; 6] = [
    Gpu {
        sm: 80,
        shared_bytes: 163 * KIB,
    },
    Gpu {
        sm: 86,
        shared_bytes: 99 * KIB,
    },
    Gpu {
        sm: 87,
        shared_bytes: 163 * KIB,
    },
    Gpu {
        sm: 89,
        shared_bytes: 99 * KIB,
    },
    Gpu {
        sm: 90,
        shared_bytes: 227 * KIB,
    },
    Gpu {
        sm: 120,
        shared_bytes: 99 * KIB,
    },
];
const MASKS: [Mask; 3] = [
    Mask::None,
    Mask::Causal(Alignment::BottomRight),
    Mask::Causal(Alignment::TopLeft),
];

/// Every head size, mask, type and a few lengths and head counts.
fn problems() -> Vec<Problem> {
    let mut problems = Vec::new();
    for head_dim in (8..=256).step_by(8) {
        for mask in MASKS {
            for dtype in [Dtype::F16, Dtype::Bf16] {
                for (seq_q, seq_k) in [(1, 1), (17, 0), (1, 8192), (4096, 4096), (1025, 97)] {
                    for (batch, heads_q, heads_kv) in [(1, 1, 1), (2, 32, 4), (64, 96, 96)] {
                        let problem = Problem {
                            batch,
                            heads_q,
                            heads_kv,
                            seq_q,
                            seq_k,
                            head_dim,
                            dtype,
                            mask,
                            scale: 0.125,
                        };
                        problem.validate().unwrap();
                        problems.push(problem);
                    }
                }
            }
        }
    }
    problems
}

#[test]
fn every_problem_gets_a_plan_that_fits_its_gpu() {
    for problem in problems() {
        for gpu in GPUS {
            let plan = choose(&problem, gpu).unwrap();
            let bytes = plan.config.shared_bytes();
            assert!(
                bytes <= gpu.shared_bytes,
                "{} on SM{}: {bytes} bytes",
                plan.config,
                gpu.sm
            );
        }
    }
}

#[test]
fn a_plan_is_made_for_its_problem() {
    for problem in problems() {
        let config = choose(&problem, GPUS[0]).unwrap().config;
        assert_eq!(config.dtype(), problem.dtype);
        assert_eq!(config.mask(), problem.mask.into());
        assert!(config.head_dim() as usize >= problem.head_dim);
    }
}

#[test]
fn a_gpu_takes_the_first_tile_of_which_two_cubes_fit_else_the_first_that_fits() {
    for problem in problems() {
        for gpu in GPUS {
            let columns = problem.head_dim as u32;
            let table: Vec<_> = tiles(columns, problem.mask.into(), gpu.sm)
                .iter()
                .map(|&tile| {
                    FwdConfig::new(problem.dtype, columns, problem.mask.into(), tile).unwrap()
                })
                .collect();
            // A multiprocessor has 1 KiB more than a cube can have, and keeps 1 KiB of each cube.
            let cubes =
                |config: &FwdConfig| (gpu.shared_bytes + KIB) / (config.shared_bytes() + KIB);
            let first = |count| table.iter().find(|config| cubes(config) >= count);
            let expected = first(2).or_else(|| first(1)).unwrap();
            assert_eq!(
                choose(&problem, gpu).unwrap().config,
                *expected,
                "SM{}",
                gpu.sm
            );
        }
    }
}

#[test]
fn sections_hold_whole_groups_of_heads_and_at_most_those_of_a_batch_entry() {
    for problem in problems() {
        let section = choose(&problem, GPUS[0]).unwrap().section as usize;
        assert!((1..=problem.heads_q).contains(&section));
        match problem.mask {
            Mask::None => assert_eq!(section, 1),
            Mask::Causal(_) => assert!(section.is_multiple_of(problem.group_size())),
        }
    }
}

#[test]
fn keys_and_values_of_a_section_fit_their_share_of_l2_unless_one_head_does_not() {
    for problem in problems()
        .into_iter()
        .filter(|p| matches!(p.mask, Mask::Causal(_)))
    {
        let section = choose(&problem, GPUS[0]).unwrap().section as usize;
        let kv_heads = section / problem.group_size();
        let bytes = kv_heads * 2 * problem.seq_k * problem.head_dim * Dtype::BYTES as usize;
        assert!(
            kv_heads == 1 || bytes <= SECTION_BYTES,
            "{problem:?}: {bytes} bytes"
        );
    }
}
