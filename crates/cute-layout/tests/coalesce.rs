//! Coalescing keeps the function and leaves nothing to merge.

mod random;

use cute_layout::Layout;
use proptest::prelude::*;

#[test]
fn neighbours_that_continue_each_other_become_one_mode() {
    assert_eq!(Layout::compact((4, (2, 8))).coalesce(), Layout::new(64, 1));
    assert_eq!(
        Layout::new((2, 1, 6), (1, 7, 3)).coalesce(),
        Layout::new((2, 6), (1, 3))
    );
    assert_eq!(Layout::new((1, 1), (5, 9)).coalesce(), Layout::new(1, 0));
}

#[test]
fn coalescing_by_mode_keeps_the_rank() {
    let layout = Layout::new(((2, 4), (3, 1)), ((1, 2), (8, 5)));
    assert_eq!(layout.coalesce_modes(), Layout::new((8, 3), (1, 8)));
}

proptest! {
    #[test]
    fn coalescing_keeps_the_function(layout in random::layouts()) {
        prop_assert!(layout.indices().eq(layout.coalesce().indices()));
        prop_assert!(layout.indices().eq(layout.coalesce_modes().indices()));
    }

    #[test]
    fn a_coalesced_layout_has_nothing_to_merge(layout in random::layouts()) {
        let coalesced = layout.coalesce();
        prop_assert!(coalesced.depth() <= 1);
        for pair in coalesced.modes().windows(2) {
            prop_assert!(pair[1].1 != pair[0].0 * pair[0].1);
        }
    }
}
