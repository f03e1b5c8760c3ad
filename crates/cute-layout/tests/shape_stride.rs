//! Layouts as functions: evaluation by coordinate and by number, and what is no layout.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod random;

use cute_layout::{IntTuple, Layout, LayoutError};
use proptest::prelude::*;

#[test]
fn a_nested_layout_evaluates_hierarchically() {
    let layout = Layout::new(((2, 2), 1, 8), ((1, 2), 0, 4));
    assert_eq!(layout.at(((1, 1), 0, 5)), 1 + 2 + 4 * 5);
    // An integer for a nested mode is the number of its coordinate, first mode fastest.
    assert_eq!(layout.at((3, 0, 5)), layout.at(((1, 1), 0, 5)));
    assert_eq!(layout.at((2, 0, 5)), layout.at(((0, 1), 0, 5)));
}

#[test]
fn compact_is_column_major_and_compact_row_is_row_major() {
    assert_eq!(Layout::compact((4, 8)), Layout::new((4, 8), (1, 4)));
    assert_eq!(Layout::compact_row((4, 8)), Layout::new((4, 8), (8, 1)));
    assert_eq!(
        Layout::compact_row(((2, 3), 1, 4)),
        Layout::new(((2, 3), 1, 4), ((12, 4), 0, 1))
    );
}

#[test]
fn the_measures_of_a_layout_are_those_of_its_shape_and_image() {
    let layout = Layout::new(((2, 3), 4), ((1, 10), 2));
    assert_eq!(layout.size(), 24);
    assert_eq!(layout.cosize(), 1 + 1 + 20 + 6);
    assert_eq!((layout.rank(), layout.depth()), (2, 2));
    assert_eq!(layout.mode_sizes(), [6, 4]);
    assert_eq!(layout.mode(0), Layout::new((2, 3), (1, 10)));
    assert_eq!(layout.modes(), [(2, 1), (3, 10), (4, 2)]);
    assert_eq!(layout.flatten(), Layout::new((2, 3, 4), (1, 10, 2)));
}

#[test]
fn a_stride_must_be_nested_as_its_shape() {
    let error = Layout::try_new((4, (2, 2)), (1, 4)).unwrap_err();
    assert!(matches!(error, LayoutError::Incongruent { .. }));
    assert_eq!(
        error.to_string(),
        "stride (_1,_4) is not nested as shape (_4,(_2,_2)) is"
    );
}

#[test]
fn an_extent_of_zero_is_no_layout() {
    let error = Layout::try_new((4, 0), (1, 4)).unwrap_err();
    assert_eq!(error.to_string(), "shape (_4,_0) has an extent of 0");
}

#[test]
fn a_coordinate_outside_of_the_shape_is_an_error() {
    let layout = Layout::new((4, (2, 2)), (1, (4, 8)));
    for coord in [
        IntTuple::from((4, 0)),
        IntTuple::from((0, 4)),
        IntTuple::from((0, (0, 2))),
        IntTuple::from((0, 0, 0)),
        IntTuple::from(16),
        IntTuple::from(((0, 0), 0)),
    ] {
        assert!(layout.try_at(&coord).is_err(), "{coord}");
    }
}

proptest! {
    #[test]
    fn a_number_and_its_coordinate_have_one_index(layout in random::layouts()) {
        // Spelled out: peel the digits of the number, lowest mode first.
        for i in 0..layout.size() {
            let (mut rest, mut index) = (i, 0);
            for (extent, stride) in layout.modes() {
                index += rest % extent * stride;
                rest /= extent;
            }
            prop_assert_eq!(layout.nth(i), index);
        }
    }

    #[test]
    fn cosize_is_one_more_than_the_largest_index(layout in random::layouts()) {
        prop_assert_eq!(Some(layout.cosize() - 1), layout.indices().max());
    }

    #[test]
    fn flattening_keeps_the_function(layout in random::layouts()) {
        prop_assert!(layout.indices().eq(layout.flatten().indices()));
    }
}
