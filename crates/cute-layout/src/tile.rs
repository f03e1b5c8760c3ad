//! The shared-memory tile of the kernels: swizzled column atoms of 128-byte or 64-byte rows.
//!
//! A row of 64 16-bit elements spans all 32 banks once, so `Sw<3,3,3>` spreads the same column of 8
//! rows over 8 different 16-byte chunks. Where the columns are no multiple of 64 (head dimensions
//! 32 and 96), rows of 32 elements span half the banks: two rows fill them, and `Sw<2,3,3>`
//! permutes the 4 chunks by the row pair. Atoms are stored one after the other, and each fills
//! whole periods of its swizzle, so one swizzle of the whole offset is the swizzle of each atom.
//!
//! An atom is also what Hopper's copy engine writes of a box of `rows x atom_cols` elements, and
//! what its matrix unit reads ([`GmmaOperand`](crate::GmmaOperand)).

use crate::error::LayoutError;
use crate::shape_stride::Layout;
use crate::swizzle::{Swizzle, Swizzled};
use crate::swizzle_mode::SwizzleMode;

/// Bytes of an element.
pub(crate) const ELEMENT_BYTES: usize = 2;
/// Elements of 16 bits in a row of a wide atom: 128 bytes, all 32 banks.
const WIDE_ATOM_COLS: usize = 64;
/// Elements of 16 bits in a row of a narrow atom: 64 bytes, 16 banks.
const NARROW_ATOM_COLS: usize = 32;
/// Rows that an atom must be a multiple of, for whole periods of either swizzle (512 and 256
/// elements).
const ROW_PERIOD: usize = 8;

/// A tile of `rows x cols` 16-bit elements in shared memory.
///
/// ```
/// use cute_layout::SmemTile;
/// let tile = SmemTile::new(64, 128);
/// assert_eq!(tile.offset(5, 16), 64 * 5 + 8 * (2 ^ 5));
/// assert_eq!(tile.offset(5, 64 + 16), 64 * 64 + tile.offset(5, 16));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SmemTile {
    rows: usize,
    cols: usize,
}

impl SmemTile {
    /// The tile of `rows x cols` elements.
    ///
    /// # Panics
    ///
    /// Where [`try_new`](Self::try_new) returns an error; meant for sizes that a configuration has
    /// validated.
    #[must_use]
    pub const fn new(rows: usize, cols: usize) -> Self {
        // A const fn can neither format the error nor drop it.
        assert!(
            has_whole_periods(rows),
            "SmemTile: rows must be a positive multiple of 8"
        );
        assert!(
            has_whole_atoms(cols),
            "SmemTile: columns must be a positive multiple of 32"
        );
        Self { rows, cols }
    }

    /// The tile of `rows x cols` elements, for rows in multiples of 8 and columns in multiples of
    /// 32.
    pub fn try_new(rows: usize, cols: usize) -> Result<Self, LayoutError> {
        if !has_whole_periods(rows) {
            return Err(LayoutError::SmemRows(rows));
        }
        if !has_whole_atoms(cols) {
            return Err(LayoutError::SmemCols(cols));
        }
        Ok(Self { rows, cols })
    }

    /// The number of rows.
    #[must_use]
    pub const fn rows(self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[must_use]
    pub const fn cols(self) -> usize {
        self.cols
    }

    /// The columns of one atom: 64, or 32 where 64 do not divide the tile.
    #[must_use]
    pub const fn atom_cols(self) -> usize {
        if self.cols.is_multiple_of(WIDE_ATOM_COLS) {
            WIDE_ATOM_COLS
        } else {
            NARROW_ATOM_COLS
        }
    }

    /// The number of atoms, side by side along the columns and one after the other in memory.
    #[must_use]
    pub const fn atoms(self) -> usize {
        self.cols / self.atom_cols()
    }

    /// The bytes of an atom, from one to the next.
    #[must_use]
    pub const fn atom_bytes(self) -> usize {
        self.rows * self.atom_cols() * ELEMENT_BYTES
    }

    /// The swizzle of byte addresses, for a tile at a multiple of its
    /// [`alignment`](SwizzleMode::alignment).
    #[must_use]
    pub const fn swizzle_mode(self) -> SwizzleMode {
        if self.atom_cols() == WIDE_ATOM_COLS {
            SwizzleMode::Bytes128
        } else {
            SwizzleMode::Bytes64
        }
    }

    /// The swizzle of element offsets: `Sw<3,3,3>` for atoms of 64 columns, `Sw<2,3,3>` for 32.
    #[must_use]
    pub const fn swizzle(self) -> Swizzle {
        if self.atom_cols() == WIDE_ATOM_COLS {
            Swizzle::new(3, 3, 3)
        } else {
            Swizzle::new(2, 3, 3)
        }
    }

    /// The element offset of `(row, col)`, as a closed form; whether they lie in the tile is not
    /// checked.
    #[must_use]
    pub const fn offset(self, row: usize, col: usize) -> usize {
        let atom_cols = self.atom_cols();
        let within = self.swizzle().apply(row * atom_cols + col % atom_cols);
        within + col / atom_cols * self.rows * atom_cols
    }

    /// The same function of `(row, col)` as a layout: `swizzle o (rows,(atom_cols,atoms))`.
    #[must_use]
    pub fn layout(self) -> Swizzled {
        let atom_cols = self.atom_cols();
        Swizzled {
            swizzle: self.swizzle(),
            layout: Layout::new(
                (self.rows, (atom_cols, self.cols / atom_cols)),
                (atom_cols, (1, self.rows * atom_cols)),
            ),
        }
    }

    /// The number of elements, which is also the storage: the tile has no padding.
    #[must_use]
    pub const fn elements(self) -> usize {
        self.rows * self.cols
    }
}

const fn has_whole_periods(rows: usize) -> bool {
    rows > 0 && rows.is_multiple_of(ROW_PERIOD)
}

const fn has_whole_atoms(cols: usize) -> bool {
    cols > 0 && cols.is_multiple_of(NARROW_ATOM_COLS)
}
