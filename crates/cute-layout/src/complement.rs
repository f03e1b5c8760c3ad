//! The complement of a layout fills the gaps of its image: the two together reach every index once.

use crate::error::LayoutError;
use crate::shape_stride::Layout;

impl Layout {
    /// The layout `C` with increasing strides for which every index below `target` is `self(i) +
    /// C(j)` for one index `self(i)` and one `j`.
    ///
    /// Where `target` is not a multiple of the period of `self`, the last repeat is whole and
    /// reaches beyond it. Modes of stride 0 add no index and are left out.
    ///
    /// ```
    /// use cute_layout::Layout;
    /// // 0 and 2 of each 4 are there: the shift by 1 and the repeats by 4 are missing.
    /// assert_eq!(Layout::new(2, 2).complement(24)?, Layout::new((2, 6), (1, 4)));
    /// # Ok::<(), cute_layout::LayoutError>(())
    /// ```
    pub fn complement(&self, target: usize) -> Result<Self, LayoutError> {
        let mut modes = self.modes();
        modes.retain(|&(extent, stride)| extent > 1 && stride > 0);
        modes.sort_by_key(|&(_, stride)| stride);

        let mut gaps = Vec::new();
        // All indices below `filled` are reached by the modes and gaps so far.
        let mut filled = 1;
        for (extent, stride) in modes {
            if !stride.is_multiple_of(filled) {
                return Err(LayoutError::NoComplement {
                    layout: self.clone(),
                });
            }
            gaps.push((stride / filled, filled));
            filled = extent * stride;
        }
        gaps.push((target.div_ceil(filled).max(1), filled));
        Ok(Self::from_flat(gaps).coalesce())
    }
}
