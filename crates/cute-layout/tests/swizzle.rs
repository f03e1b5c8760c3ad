//! The laws of the swizzle.

use cute_layout::{Layout, Swizzle, Swizzled};
use proptest::prelude::*;

fn swizzles() -> impl Strategy<Value = Swizzle> {
    (0_u32..=4, 0_u32..=4, 0_u32..=3)
        .prop_map(|(bits, base, extra)| Swizzle::new(bits, base, bits + extra))
}

const INDICES: std::ops::Range<usize> = 0..1 << 20;

#[test]
fn a_swizzled_layout_is_the_swizzle_after_the_layout() {
    let swizzle = Swizzle::new(3, 3, 3);
    let layout = Layout::new((64, 64), (64, 1));
    let swizzled = Swizzled {
        swizzle,
        layout: layout.clone(),
    };
    assert_eq!(swizzled.size(), 4096);
    for i in 0..layout.size() {
        assert_eq!(swizzled.nth(i), swizzle.apply(layout.nth(i)));
    }
    assert_eq!(swizzled.at((9, 8)), 64 * 9);
}

#[test]
fn the_identity_swizzle_moves_nothing() {
    assert!((0..4096).all(|x| Swizzle::IDENTITY.apply(x) == x));
}

#[test]
#[should_panic(expected = "the shift must not be smaller")]
fn a_swizzle_onto_its_own_source_bits_is_refused() {
    let _ = Swizzle::new(3, 3, 2);
}

proptest! {
    #[test]
    fn a_swizzle_is_its_own_inverse(swizzle in swizzles(), x in INDICES) {
        prop_assert_eq!(swizzle.apply(swizzle.apply(x)), x);
    }

    #[test]
    fn a_swizzle_permutes_each_period(swizzle in swizzles(), n in 0_usize..4) {
        let period = swizzle.period();
        let mut moved: Vec<usize> = (0..period).map(|x| swizzle.apply(n * period + x)).collect();
        moved.sort_unstable();
        prop_assert!(moved.into_iter().eq(n * period..(n + 1) * period));
    }

    #[test]
    fn a_swizzle_keeps_vectors_whole_and_aligned(swizzle in swizzles(), x in INDICES) {
        let length = 1 << swizzle.base();
        let first = x / length * length;
        prop_assert_eq!(swizzle.apply(first) % length, 0);
        prop_assert_eq!(swizzle.apply(x), swizzle.apply(first) + x % length);
    }

    #[test]
    fn a_swizzle_is_linear_over_xor(swizzle in swizzles(), x in INDICES, split in INDICES) {
        let (a, b) = (x & split, x & !split);
        prop_assert_eq!(swizzle.apply(a | b), swizzle.apply(a) ^ swizzle.apply(b));
    }

    #[test]
    fn whole_periods_pass_through_a_sum(swizzle in swizzles(), x in INDICES, n in 0_usize..100) {
        let offset = n * swizzle.period();
        prop_assert_eq!(swizzle.apply(x + offset), swizzle.apply(x) + offset);
    }
}
