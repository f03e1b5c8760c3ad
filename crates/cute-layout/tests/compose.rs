//! Composition: `R(c) = A(B(c))`, or an error that says why not.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod random;

use cute_layout::{IntTuple, Layout, LayoutError};
use proptest::prelude::*;

#[test]
fn a_mode_that_crosses_digits_splits_into_them() {
    let outer = Layout::new((10, 2), (16, 4));
    let inner = Layout::new((5, 4), (1, 5));
    assert_eq!(
        outer.compose(&inner).unwrap(),
        Layout::new((5, (2, 2)), (16, (80, 4)))
    );
}

#[test]
fn a_row_major_view_of_a_column_major_tile_is_a_transpose() {
    let tile = Layout::compact((4, 8));
    let transpose = Layout::new((8, 4), (4, 1));
    assert_eq!(tile.compose(&transpose).unwrap(), transpose);
}

#[test]
fn composing_by_mode_leaves_other_modes_alone() {
    let tile = Layout::new((8, 8, 2), (8, 1, 64));
    let every_other = Layout::new(4, 2);
    assert_eq!(
        tile.compose_modes(&[every_other.clone(), every_other])
            .unwrap(),
        Layout::new((4, 4, 2), (16, 2, 64))
    );
    let too_many = vec![Layout::compact(2); 4];
    assert!(matches!(
        tile.compose_modes(&too_many),
        Err(LayoutError::Rank { expected: 4, .. })
    ));
}

#[test]
fn a_mode_that_straddles_a_digit_is_an_error() {
    // Steps of 3 through digits of base 4: 0, 3, 6 would need two strides at once.
    let outer = Layout::new((4, 6), (1, 100));
    let error = outer.compose(&Layout::new(3, 3)).unwrap_err();
    assert!(matches!(error, LayoutError::Straddle { extent: 4, .. }));
    assert_eq!(
        error.to_string(),
        "(_4,_6):(_1,_100) cannot be composed with a mode _3:_3, which straddles an extent of 4"
    );
}

#[test]
fn a_mode_that_stays_within_a_digit_need_not_divide_it() {
    let outer = Layout::new((4, 6), (1, 100));
    assert_eq!(
        outer.compose(&Layout::new(2, 3)).unwrap(),
        Layout::new(2, 3)
    );
}

#[test]
fn modes_that_carry_are_an_error() {
    // Mode by mode this would be (2,2):(1,1); but B(1,1) = 2 and A(2) = 10.
    let outer = Layout::new((2, 2), (1, 10));
    let inner = Layout::new((2, 2), (1, 1));
    assert!(matches!(
        outer.compose(&inner),
        Err(LayoutError::Carry { .. })
    ));
}

#[test]
fn an_index_beyond_the_outer_layout_is_an_error() {
    let error = Layout::compact(8).compose(&Layout::new(3, 4)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "_8:_1 cannot be composed with _3:_4, which reaches 8, beyond the size 8"
    );
}

/// `2^6` elements in up to three modes, and an inner layout whose modes count in distinct bits.
fn layouts_in_bits() -> impl Strategy<Value = (Layout, Layout)> {
    let outer =
        (0_u32..=6, 0_u32..=6, prop::array::uniform3(0_usize..100)).prop_map(|(a, b, strides)| {
            let (low, high) = (a.min(b), a.max(b));
            let shape = (1 << low, 1 << (high - low), 1 << (6 - high));
            Layout::new(shape, (strides[0], strides[1], strides[2]))
        });
    let bits = prop::sample::subsequence((0..6).collect::<Vec<u32>>(), 1..=6).prop_shuffle();
    let inner =
        bits.prop_map(|bits| Layout::from_modes(bits.into_iter().map(|b| Layout::new(2, 1 << b))));
    (outer, inner)
}

proptest! {
    #[test]
    fn whatever_composes_is_the_composed_function(a in random::layouts(), b in random::layouts()) {
        match a.compose(&b) {
            Ok(r) => {
                prop_assert_eq!(r.size(), b.size());
prop_assert!(b.rank() == 1 || r.rank() == b.rank());
                for i in 0..b.size() {
                    prop_assert_eq!(r.nth(i), a.nth(b.nth(i)));
                }
            }
            Err(LayoutError::OutOfDomain { .. }) => prop_assert!(b.cosize() > a.size()),
            Err(error) => prop_assert!(b.cosize() <= a.size(), "{}", error),
        }
    }

    #[test]
    fn distinct_bits_always_compose((a, b) in layouts_in_bits()) {
        let r = a.compose(&b).unwrap();
        prop_assert!(r.indices().eq(b.indices().map(|i| a.nth(i))));
    }

    #[test]
    fn composition_is_associative((a, b) in layouts_in_bits(), turn in 0_usize..6) {
        // The bits of `b` in another order.
        let mut bits = Layout::compact(IntTuple::from(vec![2.into(); b.rank()])).modes();
        bits.rotate_left(turn % b.rank());
        let c = Layout::from_modes(bits.into_iter().map(|(s, d)| Layout::new(s, d)));

        let left = a.compose(&b.compose(&c).unwrap()).unwrap();
        let right = a.compose(&b).unwrap().compose(&c).unwrap();
        prop_assert!(left.indices().eq(right.indices()));
    }

    #[test]
    fn the_identity_composes_on_both_sides(layout in random::layouts()) {
        let before = layout.compose(&Layout::compact(layout.shape())).unwrap();
        let after = Layout::compact(layout.cosize()).compose(&layout).unwrap();
        prop_assert!(before.indices().eq(layout.indices()));
        prop_assert!(after.indices().eq(layout.indices()));
    }
}
