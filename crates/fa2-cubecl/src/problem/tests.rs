//! Every rule of a problem, and what follows from its sizes.

use super::{Alignment, Dtype, Mask, Problem};
use crate::error::Fa2Error;

fn valid() -> Problem {
    Problem {
        batch: 2,
        heads_q: 8,
        heads_kv: 2,
        seq_q: 100,
        seq_k: 70,
        head_dim: 64,
        dtype: Dtype::F16,
        mask: Mask::None,
        scale: 0.125,
    }
}

#[test]
fn a_valid_problem_passes() {
    assert_eq!(valid().validate(), Ok(()));
    for head_dim in (8..=256).step_by(8) {
        assert_eq!(
            Problem {
                head_dim,
                ..valid()
            }
            .validate(),
            Ok(())
        );
    }
}

#[test]
fn a_size_of_zero_is_an_error_that_names_it() {
    for (name, problem) in [
        (
            "batch",
            Problem {
                batch: 0,
                ..valid()
            },
        ),
        (
            "heads_q",
            Problem {
                heads_q: 0,
                ..valid()
            },
        ),
        (
            "heads_kv",
            Problem {
                heads_kv: 0,
                ..valid()
            },
        ),
        (
            "seq_q",
            Problem {
                seq_q: 0,
                ..valid()
            },
        ),
    ] {
        assert_eq!(problem.validate(), Err(Fa2Error::Empty { name }));
    }
}

#[test]
fn no_keys_at_all_are_allowed() {
    assert_eq!(
        Problem {
            seq_k: 0,
            ..valid()
        }
        .validate(),
        Ok(())
    );
}

#[test]
fn query_heads_that_do_not_share_evenly_are_an_error() {
    for (heads_q, heads_kv) in [(8, 3), (2, 8), (7, 2)] {
        let problem = Problem {
            heads_q,
            heads_kv,
            ..valid()
        };
        assert_eq!(
            problem.validate(),
            Err(Fa2Error::Heads { heads_q, heads_kv })
        );
    }
}

#[test]
fn head_sizes_outside_8_to_256_in_steps_of_8_are_an_error() {
    for head_dim in [0, 1, 4, 12, 63, 65, 257, 264, 512] {
        let problem = Problem {
            head_dim,
            ..valid()
        };
        assert_eq!(problem.validate(), Err(Fa2Error::HeadDim(head_dim)));
    }
}

#[test]
fn lengths_beyond_half_of_i32_are_an_error_and_those_up_to_it_are_not() {
    let limit = i32::MAX as usize / 2;
    let problem = Problem {
        seq_q: limit,
        seq_k: limit,
        ..valid()
    };
    assert_eq!(problem.validate(), Ok(()));
    for value in [limit + 1, u32::MAX as usize, usize::MAX] {
        let too_large = |name| Err(Fa2Error::TooLarge { name, value, limit });
        assert_eq!(
            Problem {
                seq_q: value,
                ..valid()
            }
            .validate(),
            too_large("seq_q")
        );
        assert_eq!(
            Problem {
                seq_k: value,
                ..valid()
            }
            .validate(),
            too_large("seq_k")
        );
    }
}

#[test]
fn scales_that_are_not_finite_and_positive_are_an_error() {
    for scale in [0.0, -0.0, -1.0, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(
            Problem { scale, ..valid() }.validate(),
            Err(Fa2Error::Scale(scale))
        );
    }
    let problem = Problem {
        scale: f32::NAN,
        ..valid()
    };
    assert!(matches!(problem.validate(), Err(Fa2Error::Scale(scale)) if scale.is_nan()));
    assert_eq!(
        Problem {
            scale: f32::MIN_POSITIVE,
            ..valid()
        }
        .validate(),
        Ok(())
    );
}

#[test]
fn errors_name_the_value_and_the_rule() {
    let head_dim = Problem {
        head_dim: 12,
        ..valid()
    }
    .validate()
    .unwrap_err();
    assert!(head_dim.to_string().starts_with("head_dim is 12, but"));
    let heads = Problem {
        heads_kv: 3,
        ..valid()
    }
    .validate()
    .unwrap_err();
    assert_eq!(
        heads.to_string(),
        "heads_q is 8, which is not a multiple of heads_kv, 3"
    );
}

#[test]
fn bottom_right_lets_the_last_query_see_all_keys_and_top_left_the_first_query_one() {
    let bottom_right = Mask::Causal(Alignment::BottomRight);
    let top_left = Mask::Causal(Alignment::TopLeft);
    for (seq_q, seq_k) in [(100, 70), (70, 100), (64, 64), (1, 4096), (5, 0)] {
        let diagonal = |mask| {
            Problem {
                seq_q,
                seq_k,
                mask,
                ..valid()
            }
            .diagonal()
        };
        // Query i sees keys up to i + diagonal.
        assert_eq!(seq_q as i32 - 1 + diagonal(bottom_right), seq_k as i32 - 1);
        assert_eq!(diagonal(top_left), 0);
        assert_eq!(diagonal(Mask::None), 0);
    }
}

#[test]
fn query_heads_of_a_group_share_a_key_head() {
    assert_eq!(valid().group_size(), 4);
    assert_eq!(
        Problem {
            heads_kv: 8,
            ..valid()
        }
        .group_size(),
        1
    );
    assert_eq!(
        Problem {
            heads_kv: 1,
            ..valid()
        }
        .group_size(),
        8
    );
}

#[test]
fn flops_count_two_products_and_half_of_them_where_causal() {
    let products = 2.0 * 2.0 * (2 * 8 * 100 * 70 * 64) as f64;
    assert_eq!(valid().flops(), products);
    for alignment in [Alignment::BottomRight, Alignment::TopLeft] {
        let causal = Problem {
            mask: Mask::Causal(alignment),
            ..valid()
        };
        assert_eq!(causal.flops(), products / 2.0);
    }
}
