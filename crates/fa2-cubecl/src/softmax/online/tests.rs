//! Any split into blocks, in any order, gives the one-pass softmax (claims S1 and S2).

mod row;

use super::{LAZY_GROWTH, Rescale};
use proptest::prelude::*;
use row::{Arithmetic, COLUMNS, F32, F64, Key, Output, Rescaled, Row, one_pass, online};

/// Largest `c |s|` of the random scores.
const LARGEST_EXPONENT: f64 = 64.0;

/// Cuts `keys` into blocks of these sizes, again and again.
fn split<'a>(keys: &'a [Key], sizes: &[usize]) -> Vec<&'a [Key]> {
    let mut blocks = Vec::new();
    let mut rest = keys;
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (block, after) = rest.split_at(size.min(rest.len()));
        blocks.push(block);
        rest = after;
    }
    blocks
}

/// How far O (with |V| up to 1) and the LSE may be off: an exponent of up to E is rounded three
/// times, and twice more for each block that moves the base; a sum once for each key; and O is a
/// quotient of two such sums.
fn tolerance(arithmetic: Arithmetic, keys: usize, blocks: usize) -> f64 {
    let exponents = (3 + 2 * blocks) as f64 * LARGEST_EXPONENT;
    2.0 * (exponents + (keys + 2 * blocks + 4) as f64) * arithmetic.unit
}

fn assert_close(left: Output, right: Output, tolerance: f64) {
    for (a, b) in left.o.into_iter().zip(right.o) {
        assert!((a - b).abs() <= tolerance, "{left:?} {right:?} {tolerance}");
    }
    let equal = left.lse == right.lse || (left.lse - right.lse).abs() <= tolerance;
    assert!(equal, "{left:?} {right:?} {tolerance}");
}

/// Keys whose scores and values f32 holds exactly; one in four is hidden.
fn any_keys() -> impl Strategy<Value = Vec<Key>> {
    let score = prop_oneof![
        3 => (-30.0_f32..30.0).prop_map(f64::from),
        1 => Just(f64::NEG_INFINITY),
    ];
    let value = (-1.0_f32..1.0).prop_map(f64::from);
    prop::collection::vec((score, prop::array::uniform3(value)), 1..60)
}

fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..20, 1..6)
}

/// A scale log2(e), which f32 holds exactly.
fn any_factor() -> impl Strategy<Value = f64> {
    (0.01_f32..2.0).prop_map(f64::from)
}

proptest! {
    /// Keys come in random order, so this is any split and any order.
    #[test]
    fn s1_any_split_into_blocks_gives_the_one_pass_softmax(
        keys in any_keys(),
        sizes in any_sizes(),
        c in any_factor(),
    ) {
        let blocks = split(&keys, &sizes);
        for arithmetic in [F64, F32] {
            let tolerance = tolerance(arithmetic, keys.len(), blocks.len());
            for rescale in [Rescale::Eager, Rescale::Lazy] {
                let result = online(Row::new(arithmetic, rescale), &blocks, c);
                assert_close(result, one_pass(&keys, c), tolerance);
            }
        }
    }

    #[test]
    fn s1_the_order_of_the_blocks_does_not_matter(
        keys in any_keys(),
        sizes in any_sizes(),
        c in any_factor(),
    ) {
        let blocks = split(&keys, &sizes);
        let reversed: Vec<_> = blocks.iter().rev().copied().collect();
        let tolerance = 2.0 * tolerance(F64, keys.len(), blocks.len());
        for rescale in [Rescale::Eager, Rescale::Lazy] {
            let row = Row::new(F64, rescale);
            assert_close(online(row.clone(), &blocks, c), online(row, &reversed, c), tolerance);
        }
    }

    /// A warp moves the bases of all its rows when one of them asks for it.
    #[test]
    fn s1_a_base_may_move_with_any_block(
        keys in any_keys(),
        sizes in any_sizes(),
        c in any_factor(),
        raised in prop::collection::vec(any::<bool>(), 60),
    ) {
        let blocks = split(&keys, &sizes);
        let mut row = Row::new(F64, Rescale::Lazy);
        for (block, raised) in blocks.iter().zip(raised) {
            row.step(block, c, raised);
        }
        let tolerance = tolerance(F64, keys.len(), blocks.len());
        assert_close(row.finish(), one_pass(&keys, c), tolerance);
    }

    #[test]
    fn a_lazy_base_keeps_every_probability_within_2_to_the_8(
        keys in any_keys(),
        sizes in any_sizes(),
        c in any_factor(),
    ) {
        let blocks = split(&keys, &sizes);
        let [eager, lazy] = [Rescale::Eager, Rescale::Lazy].map(|rescale| {
            let mut row = Row::new(F64, rescale);
            blocks.iter().for_each(|block| row.step(block, c, false));
            row
        });
        let noise = 1.0 + tolerance(F64, keys.len(), blocks.len());
        prop_assert!(lazy.largest_p <= f64::from(LAZY_GROWTH).exp2() * noise);
        prop_assert!(eager.largest_p <= noise);
        prop_assert!(lazy.moves <= eager.moves);
    }

    /// Rounding is monotonic, so this holds in f32 exactly.
    #[test]
    fn s2_a_positive_scale_may_follow_the_maximum(
        scores in prop::collection::vec(-1e4_f32..1e4, 1..50),
        c in 1e-6_f32..1e3,
    ) {
        let largest = |scores: &mut dyn Iterator<Item = f32>| scores.fold(f32::NEG_INFINITY, f32::max);
        let scaled_first = largest(&mut scores.iter().map(|s| c * s));
        prop_assert_eq!(scaled_first, c * largest(&mut scores.iter().copied()));
    }
}

#[test]
fn s2_a_negative_scale_may_not() {
    let (c, scores) = (-1.0_f32, [1.0_f32, 2.0]);
    assert_ne!(
        (c * scores[0]).max(c * scores[1]),
        c * scores[0].max(scores[1])
    );
}

#[test]
fn s2_base_2_with_a_folded_factor_is_the_exponential() {
    let scale = 0.125;
    let c = scale * std::f64::consts::LOG2_E;
    for s in [-40.0, -1.0, 0.0, 3.5, 40.0] {
        let (folded, direct) = ((c * s).exp2(), f64::exp(scale * s));
        assert!((folded / direct - 1.0).abs() < 16.0 * f64::EPSILON);
    }
}

/// Keys with rising scores, so that every block moves the base.
fn rising() -> Vec<Key> {
    (0..16)
        .map(|i| (f64::from(10 * i), [1.0, f64::from(i) / 16.0, -1.0]))
        .collect()
}

#[test]
fn s1_rescaling_l_alone_gives_results_that_change_with_tile_boundaries() {
    let keys = rising();
    let c = 0.125 * std::f64::consts::LOG2_E;
    let of = |rescale, rescaled, size| {
        let row = Row::with_rescaled(F64, rescale, rescaled);
        online(row, &split(&keys, &[size]), c).o
    };
    for rescale in [Rescale::Eager, Rescale::Lazy] {
        let spread = |rescaled| {
            let first = of(rescale, rescaled, 16);
            let differences =
                [1, 2, 4, 8].map(|size| (of(rescale, rescaled, size)[0] - first[0]).abs());
            differences.into_iter().fold(0.0, f64::max)
        };
        assert!(spread(Rescaled::SumAndOutput) <= tolerance(F64, 16, 16));
        // O is a mean of V, whose first column is 1 everywhere.
        assert!(spread(Rescaled::SumOnly) > 0.1, "{rescale:?}");
    }
}

#[test]
fn the_bug_is_invisible_while_no_base_moves() {
    let mut keys = rising();
    keys.reverse();
    let row = Row::with_rescaled(F64, Rescale::Eager, Rescaled::SumOnly);
    let c = 0.125;
    assert_close(
        online(row, &split(&keys, &[4]), c),
        one_pass(&keys, c),
        tolerance(F64, 16, 4),
    );
}

#[test]
fn a_lazy_base_stays_while_the_maximum_grows_by_up_to_2_to_the_8() {
    let moves = |growth: f64| {
        let mut row = Row::new(F64, Rescale::Lazy);
        row.step(&[(0.0, [1.0; COLUMNS])], 1.0, false);
        row.step(&[(growth, [1.0; COLUMNS])], 1.0, false);
        row.moves
    };
    assert_eq!([7.9, 8.0, 8.1].map(moves), [0, 0, 1]);
}

#[test]
fn a_row_without_a_key_is_zero_with_an_lse_of_minus_infinity_and_no_nan() {
    let hidden = [(f64::NEG_INFINITY, [0.5; COLUMNS]); 4];
    for arithmetic in [F64, F32] {
        for rescale in [Rescale::Eager, Rescale::Lazy] {
            // Raised or not by the row's neighbors, and without any block.
            for steps in [0, 1, 3] {
                for raised in [false, true] {
                    let mut row = Row::new(arithmetic, rescale);
                    (0..steps).for_each(|_| row.step(&hidden, 0.2, raised));
                    assert_eq!(row.base, f64::INFINITY);
                    let Output { o, lse } = row.finish();
                    assert_eq!((o, lse), ([0.0; COLUMNS], f64::NEG_INFINITY));
                }
            }
        }
    }
}

#[test]
fn hidden_blocks_before_and_after_the_keys_change_nothing() {
    let hidden = [(f64::NEG_INFINITY, [0.5; COLUMNS]); 4];
    let keys = rising();
    for rescale in [Rescale::Eager, Rescale::Lazy] {
        let blocks = [&hidden[..], &keys[..8], &hidden, &keys[8..], &hidden];
        let result = online(Row::new(F64, rescale), &blocks, 0.125);
        assert_close(result, one_pass(&keys, 0.125), tolerance(F64, 16, 5));
    }
}
