//! The picture of a thread-value layout has one cell an element and one colour a thread.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cute_layout::{Layout, LayoutError, MmaAtom, draw_tv};

#[test]
fn every_element_has_a_cell_with_its_thread_and_value() {
    let svg = draw_tv(MmaAtom::m16n8k16().c(), 16, 8).unwrap();
    assert_eq!(svg.matches("<rect").count(), 16 * 8);
    // Each lane holds 4 values, each value is held by 32 lanes.
    assert_eq!(svg.matches(">T0<").count(), 4);
    assert_eq!(svg.matches(">T31<").count(), 4);
    assert_eq!(svg.matches(">V3<").count(), 32);
    assert!(svg.ends_with("</svg>\n"));
}

#[test]
fn a_thread_has_one_colour_in_all_its_cells() {
    let svg = draw_tv(&Layout::new((2, 4), (4, 1)), 2, 4).unwrap();
    assert_eq!(svg.matches("hsl(0,").count(), 4);
    assert_eq!(svg.matches("hsl(137,").count(), 4);
}

#[test]
fn an_element_that_no_thread_holds_stays_white() {
    let svg = draw_tv(&Layout::new((2, 1), (1, 0)), 2, 2).unwrap();
    assert_eq!(svg.matches("fill=\"white\"").count(), 2);
}

#[test]
fn a_layout_larger_than_the_tile_is_an_error() {
    let error = draw_tv(&Layout::compact((4, 4)), 2, 4).unwrap_err();
    assert!(matches!(error, LayoutError::OutOfDomain { .. }));
}
