//! Inverses read a layout backwards: from an index to the number of the coordinate that has it.

use crate::error::LayoutError;
use crate::shape_stride::Layout;

impl Layout {
    /// The longest layout `R` with `self(R(i)) = i`: where to find index `i`.
    ///
    /// It ends before the first index that `self` does not reach in steps of its modes, so it may
    /// be as short as `1:0`.
    ///
    /// ```
    /// use cute_layout::Layout;
    /// // In a row-major tile, index 9 is the coordinate (1, 1), which has the number 1 + 4 * 1.
    /// assert_eq!(Layout::new((4, 8), (8, 1)).right_inverse().nth(9), 5);
    /// ```
    #[must_use]
    pub fn right_inverse(&self) -> Self {
        let mut number = 1;
        let mut modes = Vec::new();
        for (extent, stride) in self.coalesce().modes() {
            modes.push((stride, extent, number));
            number *= extent;
        }
        modes.sort_by_key(|&(stride, ..)| stride);

        let mut reached = 1;
        let mut inverse = Vec::new();
        for (stride, extent, number) in modes {
            if stride == reached {
                inverse.push((extent, number));
                reached *= extent;
            }
        }
        Self::from_flat(inverse).coalesce()
    }

    /// A layout `R` with `R(self(i)) = i`, for an injective `self`: which coordinate has an index.
    ///
    /// It is the right inverse of `(self, complement)`, which has no gaps; indices that `self` does
    /// not reach go to numbers of `self.size()` and above.
    pub fn left_inverse(&self) -> Result<Self, LayoutError> {
        if self
            .modes()
            .iter()
            .any(|&(extent, stride)| extent > 1 && stride == 0)
        {
            return Err(LayoutError::NotInjective {
                layout: self.clone(),
            });
        }
        let gaps = self.complement(self.cosize())?;
        Ok(Self::from_modes([self.clone(), gaps]).right_inverse())
    }
}
