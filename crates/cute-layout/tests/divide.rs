//! Division and product: tiles and repeats of tiles, every element once.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod random;

use cute_layout::{Layout, LayoutError};
use proptest::prelude::*;

#[test]
fn zipped_division_gathers_the_tiles() {
    // 8 x 12, row-major, in tiles of 4 neighbouring rows and every third column.
    let tile = Layout::new((8, 12), (12, 1));
    let tilers = [Layout::compact(4), Layout::new(4, 3)];
    assert_eq!(
        tile.logical_divide_modes(&tilers).unwrap(),
        Layout::new(((4, 2), (4, 3)), ((12, 48), (3, 1)))
    );
    assert_eq!(
        tile.zipped_divide(&tilers).unwrap(),
        Layout::new(((4, 4), (2, 3)), ((12, 3), (48, 1)))
    );
}

#[test]
fn a_mode_without_a_tiler_is_a_repeat() {
    let stages = Layout::new((8, 8, 3), (8, 1, 64));
    assert_eq!(
        stages
            .zipped_divide(&[Layout::compact(4), Layout::compact(2)])
            .unwrap(),
        Layout::new(((4, 2), (2, 4, 3)), ((8, 1), (32, 2, 64)))
    );
}

#[test]
fn a_tile_that_does_not_divide_is_an_error() {
    assert!(matches!(
        Layout::compact(10).logical_divide(&Layout::compact(4)),
        Err(LayoutError::OutOfDomain { .. })
    ));
}

#[test]
fn a_product_repeats_the_tile_in_the_order_of_the_tiler() {
    let tile = Layout::new((2, 2), (4, 1));
    assert_eq!(
        tile.logical_product(&Layout::new((4, 2), (2, 1))).unwrap(),
        Layout::new(((2, 2), (4, 2)), ((4, 1), (8, 2)))
    );
}

proptest! {
    #[test]
    fn a_division_is_the_layout_after_tile_and_rest(
        tiler in random::injective_layouts(),
        repeats in 1_usize..4,
    ) {
        // Whole periods of the tiler, so that it divides.
        let period = tiler.size() * tiler.complement(tiler.cosize()).unwrap().size();
        let size = period * repeats;
        let divided = Layout::compact(size).logical_divide(&tiler).unwrap();
        let (tile, rest) = (divided.mode(0), divided.mode(1));

        prop_assert!(tile.indices().eq(tiler.indices()));
        let mut all: Vec<usize> = divided.indices().collect();
        all.sort_unstable();
        prop_assert!(all.into_iter().eq(0..size));
        for j in 0..rest.size() {
            for i in 0..tile.size() {
                prop_assert_eq!(divided.at((i, j)), tiler.nth(i) + rest.nth(j));
            }
        }
    }

    #[test]
    fn a_product_keeps_the_tile_and_repeats_it_disjointly(
        tile in random::bijections(),
        tiler in random::injective_layouts(),
    ) {
        let product = tile.logical_product(&tiler).unwrap();
        prop_assert_eq!(product.mode(0), tile.clone());
        prop_assert_eq!(product.mode(1).size(), tiler.size());
        let mut all: Vec<usize> = product.indices().collect();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), tile.size() * tiler.size());
    }
}
