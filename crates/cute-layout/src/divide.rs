//! Division splits a layout into a tile and its repeats; the product repeats a tile.

use crate::error::LayoutError;
use crate::shape_stride::Layout;

impl Layout {
    /// Splits `self` by a tiler `B` into `(tile, rest)`: `self` after `(B, complement of B)`.
    ///
    /// Every index of `self` is `tile(i) + rest(j)` for one `(i, j)`: `i` runs through the tile
    /// that `B` picks, `j` through its repeats.
    ///
    /// ```
    /// use cute_layout::Layout;
    /// let split = Layout::compact(32).logical_divide(&Layout::new(8, 4))?;
    /// assert_eq!(split, Layout::new((8, 4), (4, 1)));
    /// # Ok::<(), cute_layout::LayoutError>(())
    /// ```
    pub fn logical_divide(&self, tiler: &Self) -> Result<Self, LayoutError> {
        let rest = tiler.complement(self.size())?;
        self.compose(&Self::from_modes([tiler.clone(), rest]))
    }

    /// Splits mode `i` by `tilers[i]` into `((tile_0, rest_0), (tile_1, rest_1), ..)`; modes
    /// without a tiler stay.
    pub fn logical_divide_modes(&self, tilers: &[Self]) -> Result<Self, LayoutError> {
        self.map_modes(tilers, Self::logical_divide)
    }

    /// Splits mode `i` by `tilers[i]` and gathers the tiles: `((tile_0, tile_1, ..), (rest_0,
    /// rest_1, ..))`.
    ///
    /// The first mode is one tile as a layout, the second walks over all tiles. Modes without a
    /// tiler are repeats.
    pub fn zipped_divide(&self, tilers: &[Self]) -> Result<Self, LayoutError> {
        let divided = self.logical_divide_modes(tilers)?;
        let (mut tiles, mut rests) = (Vec::new(), Vec::new());
        for i in 0..divided.rank() {
            let mode = divided.mode(i);
            if i < tilers.len() {
                tiles.push(mode.mode(0));
                rests.push(mode.mode(1));
            } else {
                rests.push(mode);
            }
        }
        Ok(Self::from_modes([
            Self::from_modes(tiles),
            Self::from_modes(rests),
        ]))
    }

    /// Repeats `self` as often, and in the order, that `tiler` says: `(self, repeats)`.
    ///
    /// ```
    /// use cute_layout::Layout;
    /// let tiles = Layout::new((2, 2), (4, 1)).logical_product(&Layout::compact(6))?;
    /// assert_eq!(tiles, Layout::new(((2, 2), (2, 3)), ((4, 1), (2, 8))));
    /// # Ok::<(), cute_layout::LayoutError>(())
    /// ```
    pub fn logical_product(&self, tiler: &Self) -> Result<Self, LayoutError> {
        let free = self.complement(self.size() * tiler.cosize())?;
        Ok(Self::from_modes([self.clone(), free.compose(tiler)?]))
    }
}
