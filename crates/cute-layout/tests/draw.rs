//! The picture of a thread-value layout has one cell an element and one colour a thread.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cute_layout::{Cell, Layout, LayoutError, MmaAtom, draw_cells, draw_tv};

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

#[test]
fn cells_of_chosen_rows_and_columns_are_drawn_beside_their_coordinates() {
    let svg = draw_cells(16..18, 8..12, |row, col| {
        ((row, col) != (16, 8)).then(|| Cell {
            label: vec![format!("{row}x{col}")],
            owner: row,
        })
    });
    assert_eq!(svg.matches("<rect").count(), 2 * 4);
    assert_eq!(svg.matches("fill=\"white\"").count(), 1);
    assert_eq!(svg.matches(">16<").count() + svg.matches(">17<").count(), 2);
    assert!(svg.contains(">17x11<") && !svg.contains(">18x"));
    assert!((8..12).all(|col| svg.contains(&format!(">{col}<"))));
}
