//! The complement is disjoint from a layout and covers the rest.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod random;

use cute_layout::{Layout, LayoutError};
use proptest::prelude::*;

#[test]
fn a_complement_holds_the_gaps_and_the_repeats() {
    for (layout, complement) in [
        (Layout::new(4, 1), Layout::new(6, 4)),
        (Layout::new(6, 4), Layout::new(4, 1)),
        (Layout::new((4, 6), (1, 4)), Layout::new(1, 0)),
        (Layout::new(4, 2), Layout::new((2, 3), (1, 8))),
        (Layout::new((2, 4), (1, 6)), Layout::new(3, 2)),
        (Layout::new((2, 2), (1, 6)), Layout::new((3, 2), (2, 12))),
    ] {
        assert_eq!(layout.complement(24).unwrap(), complement, "of {layout}");
    }
}

#[test]
fn overlapping_modes_have_no_complement() {
    let error = Layout::new((4, 4), (1, 2)).complement(32).unwrap_err();
    assert!(matches!(error, LayoutError::NoComplement { .. }));
}

proptest! {
    #[test]
    fn a_layout_and_its_complement_reach_every_index_once(
        layout in random::injective_layouts(),
        target in 1_usize..2000,
    ) {
        let complement = layout.complement(target).unwrap();
        let mut reached: Vec<usize> = layout
            .indices()
            .flat_map(|i| complement.indices().map(move |j| i + j))
            .collect();
        reached.sort_unstable();
        // Without a hole or a repeat from 0 on, and at least up to the target.
        prop_assert!(reached.iter().copied().eq(0..reached.len()));
        prop_assert!(reached.len() >= target);
    }

    #[test]
    fn a_complement_is_increasing(layout in random::injective_layouts()) {
        let complement = layout.complement(layout.cosize()).unwrap();
        prop_assert!(complement.indices().is_sorted());
    }
}
