//! Coalescing rewrites a layout with the fewest modes that keep it the same function on `0..size`.

use crate::shape_stride::Layout;

impl Layout {
    /// The same function on `0..size` with as few modes as possible.
    ///
    /// Two neighbours `s0:d0, s1:d1` are one mode `s0*s1:d0` exactly when `d1 = s0 * d0`; a mode of
    /// extent 1 is none at all.
    ///
    /// ```
    /// use cute_layout::Layout;
    /// assert_eq!(Layout::new((2, (1, 6)), (1, (6, 2))).coalesce(), Layout::new(12, 1));
    /// ```
    #[must_use]
    pub fn coalesce(&self) -> Self {
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for (extent, stride) in self.modes() {
            match merged.last_mut() {
                _ if extent == 1 => {}
                Some((last, step)) if stride == *last * *step => *last *= extent,
                _ => merged.push((extent, stride)),
            }
        }
        Self::from_flat(merged)
    }

    /// Each top-level mode coalesced on its own, so that rank and mode sizes stay.
    #[must_use]
    pub fn coalesce_modes(&self) -> Self {
        Self::from_modes((0..self.rank()).map(|i| self.mode(i).coalesce()))
    }
}
