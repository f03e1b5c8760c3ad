//! The shared-memory tile: closed form, layout, and what its atoms promise.

use cute_layout::{LayoutError, SmemTile, Swizzle};

const ROWS: [usize; 4] = [16, 32, 64, 128];
const COLS: [usize; 6] = [32, 64, 96, 128, 192, 256];

fn tiles() -> impl Iterator<Item = SmemTile> {
    ROWS.into_iter()
        .flat_map(|rows| COLS.map(|cols| SmemTile::new(rows, cols)))
}

#[test]
fn columns_choose_the_atom_and_its_swizzle() {
    for (cols, atom_cols, swizzle) in [
        (32, 32, Swizzle::new(2, 3, 3)),
        (64, 64, Swizzle::new(3, 3, 3)),
        (96, 32, Swizzle::new(2, 3, 3)),
        (128, 64, Swizzle::new(3, 3, 3)),
        (192, 64, Swizzle::new(3, 3, 3)),
        (256, 64, Swizzle::new(3, 3, 3)),
    ] {
        let tile = SmemTile::new(64, cols);
        assert_eq!((tile.atom_cols(), tile.swizzle()), (atom_cols, swizzle));
    }
}

#[test]
fn the_closed_form_is_the_layout() {
    for tile in tiles() {
        let layout = tile.layout();
        for row in 0..tile.rows() {
            for col in 0..tile.cols() {
                assert_eq!(
                    tile.offset(row, col),
                    layout.at((row, col)),
                    "{tile:?} ({row},{col})"
                );
            }
        }
    }
}

#[test]
fn the_tile_fills_its_storage_without_gap_or_overlap() {
    for tile in tiles() {
        let mut offsets: Vec<usize> = (0..tile.elements()).map(|i| tile.layout().nth(i)).collect();
        offsets.sort_unstable();
        assert!(offsets.into_iter().eq(0..tile.elements()), "{tile:?}");
    }
}

#[test]
fn vectors_of_16_bytes_stay_whole_and_aligned() {
    for tile in tiles() {
        for row in 0..tile.rows() {
            for col in 0..tile.cols() {
                let first = tile.offset(row, col - col % 8);
                assert_eq!(first % 8, 0);
                assert_eq!(tile.offset(row, col), first + col % 8);
            }
        }
    }
}

#[test]
fn rows_and_columns_that_do_not_fill_atoms_are_errors() {
    assert_eq!(SmemTile::try_new(12, 64), Err(LayoutError::SmemRows(12)));
    assert_eq!(SmemTile::try_new(0, 64), Err(LayoutError::SmemRows(0)));
    assert_eq!(SmemTile::try_new(64, 80), Err(LayoutError::SmemCols(80)));
    assert_eq!(SmemTile::try_new(64, 0), Err(LayoutError::SmemCols(0)));
}
