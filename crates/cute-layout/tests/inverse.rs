//! Inverses undo a layout on the side they are named after.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod random;

use cute_layout::{Layout, LayoutError};
use proptest::prelude::*;

#[test]
fn the_inverse_of_row_major_is_its_transpose() {
    let row_major = Layout::new((4, 8), (8, 1));
    let inverse = Layout::new((8, 4), (4, 1));
    assert_eq!(row_major.right_inverse(), inverse);
    assert_eq!(row_major.left_inverse().unwrap(), inverse);
}

#[test]
fn a_right_inverse_ends_at_the_first_gap() {
    // Reaches 0..4 and 8..12: index 4 has no coordinate.
    assert_eq!(
        Layout::new((2, 4), (8, 1)).right_inverse(),
        Layout::new(4, 2)
    );
    assert_eq!(Layout::new(4, 2).right_inverse(), Layout::new(1, 0));
}

#[test]
fn a_broadcast_has_no_left_inverse() {
    assert!(matches!(
        Layout::new((4, 2), (1, 0)).left_inverse(),
        Err(LayoutError::NotInjective { .. })
    ));
}

proptest! {
    #[test]
    fn a_right_inverse_finds_each_index(layout in random::layouts()) {
        let inverse = layout.right_inverse();
        for i in 0..inverse.size() {
            prop_assert_eq!(layout.nth(inverse.nth(i)), i);
        }
    }

    #[test]
    fn a_left_inverse_finds_each_coordinate(layout in random::injective_layouts()) {
        let inverse = layout.left_inverse().unwrap();
        for i in 0..layout.size() {
            prop_assert_eq!(inverse.nth(layout.nth(i)), i);
        }
    }

    #[test]
    fn a_left_inverse_sends_other_indices_beyond_the_size(layout in random::injective_layouts()) {
        let inverse = layout.left_inverse().unwrap();
        let reached: Vec<usize> = layout.indices().collect();
        for index in (0..inverse.size()).filter(|index| !reached.contains(index)) {
            prop_assert!(inverse.nth(index) >= layout.size());
        }
    }

    #[test]
    fn a_bijection_has_one_inverse_on_both_sides(layout in random::bijections()) {
        let (left, right) = (layout.left_inverse().unwrap(), layout.right_inverse());
        prop_assert_eq!(right.size(), layout.size());
        prop_assert!(left.indices().eq(right.indices()));
    }
}
