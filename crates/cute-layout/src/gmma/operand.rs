//! A shared-memory tile as an operand of wgmma: its descriptor, and where each step starts.

use super::{CORE_COLS, CORE_ROWS, GmmaDescriptor, Major};
use crate::shape_stride::Layout;
use crate::swizzle::Swizzled;
use crate::tile::{ELEMENT_BYTES, SmemTile};

/// A tile of 16-bit elements read by wgmma as `(mn, k)`: its rows are `mn` where the depth is
/// contiguous, its columns where M or N is. No element moves.
///
/// One instruction takes 64 rows of A or N columns of B, and a depth of 16. What changes from one
/// to the next is the start address alone:
///
/// ```
/// use cute_layout::{GmmaOperand, Major, SmemTile};
/// let tile = SmemTile::new(128, 128);
/// let k_major = GmmaOperand::new(tile, Major::K);
/// // 16 columns are 32 bytes; 64 of them fill an atom of 128 rows x 128 bytes.
/// let steps: Vec<usize> = (0..128).step_by(16).map(|k| k_major.start(0, k)).collect();
/// assert_eq!(steps[..5], [0, 32, 64, 96, 128 * 128]);
///
/// // 16 rows are 16 x 128 bytes.
/// let mn_major = GmmaOperand::new(tile, Major::Mn);
/// assert_eq!(mn_major.start(0, 16), 16 * 128);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GmmaOperand {
    tile: SmemTile,
    major: Major,
}

impl GmmaOperand {
    /// `tile` as an operand.
    #[must_use]
    pub const fn new(tile: SmemTile, major: Major) -> Self {
        Self { tile, major }
    }

    /// The tile as it is stored.
    #[must_use]
    pub const fn tile(self) -> SmemTile {
        self.tile
    }

    /// The contiguous axis.
    #[must_use]
    pub const fn major(self) -> Major {
        self.major
    }

    /// The extents `[mn, k]`.
    #[must_use]
    pub const fn extents(self) -> [usize; 2] {
        match self.major {
            Major::K => [self.tile.rows(), self.tile.cols()],
            Major::Mn => [self.tile.cols(), self.tile.rows()],
        }
    }

    /// `(mn, k)` to the element offset in the tile.
    #[must_use]
    pub fn layout(self) -> Swizzled {
        let Swizzled { swizzle, layout } = self.tile.layout();
        let layout = match self.major {
            Major::K => layout,
            Major::Mn => Layout::from_modes([layout.mode(1), layout.mode(0)]),
        };
        Swizzled { swizzle, layout }
    }

    /// The bytes from the tile to the start of the instruction at `(mn, k)`.
    ///
    /// Rows and columns that it may start at:
    ///
    /// * rows in multiples of 8, whole periods of the swizzle;
    /// * columns in multiples of 8, a 16-byte chunk: the hardware swizzles addresses, so a start
    ///   within a row is as good as one at its edge, as long as the instruction ends within the
    ///   row too, or starts at its edge and fills rows.
    ///
    /// # Panics
    ///
    /// If `(mn, k)` does not name such a row and column.
    #[must_use]
    pub const fn start(self, mn: usize, k: usize) -> usize {
        let (row, col) = match self.major {
            Major::K => (mn, k),
            Major::Mn => (k, mn),
        };
        assert!(
            row.is_multiple_of(CORE_ROWS) && col.is_multiple_of(CORE_COLS),
            "GmmaOperand: an instruction starts at a multiple of 8 rows and 8 columns"
        );
        ELEMENT_BYTES * self.tile.offset(row, col)
    }

    /// The descriptor of the instruction at `(0, 0)`, with the tile at `address` in shared memory,
    /// a multiple of the mode's [`alignment`](crate::SwizzleMode::alignment). The others
    /// [`advance`](GmmaDescriptor::advance) it by their [`start`](Self::start).
    #[must_use]
    pub const fn descriptor(self, address: usize) -> GmmaDescriptor {
        GmmaDescriptor {
            start_address: address,
            leading_byte_offset: match self.major {
                // One core matrix to the next, as in CuTe.
                Major::K => ELEMENT_BYTES * CORE_COLS,
                // An atom without a neighbour has no step to it: 0, also as in CuTe.
                Major::Mn if self.tile.atoms() == 1 => 0,
                Major::Mn => self.tile.atom_bytes(),
            },
            stride_byte_offset: self.tile.swizzle_mode().row_bytes() * CORE_ROWS,
            swizzle: self.tile.swizzle_mode(),
        }
    }
}
