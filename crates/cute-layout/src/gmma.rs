//! How wgmma finds an operand in shared memory: the matrix descriptor.
//!
//! An operand is `(mn, k)`: the rows of A or the columns of B, and 16 of depth for one instruction.
//! The unit of its storage is a core matrix, 8 rows of 16 bytes; with a swizzle, as many of them
//! stand side by side as fill a row of the mode, 128 or 64 bytes. The descriptor tells the rest.
//! In bytes from the start, before the swizzle, with `W` the bytes of a row:
//!
//! ```text
//! K-major     ((8,mn/8),(8,2)):((W,SBO),(2,16))        rows of depth: 8 of them, then SBO
//! MN-major    ((W/2,2 mn/W),(8,2)):((2,LBO),(W,SBO))   rows of M or N: across atoms by LBO, down by SBO
//! address     Sw(start + offset)                       the swizzle is one of addresses
//! ```
//!
//! Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", sections "Shared Memory
//! Matrix Layout" and "Matrix Descriptor Format"; the canonical layouts are those of CuTe's
//! `make_gmma_desc`.

mod operand;

pub use operand::GmmaOperand;

use crate::shape_stride::Layout;
use crate::swizzle::Swizzled;
use crate::swizzle_mode::SwizzleMode;
use crate::tile::ELEMENT_BYTES;

/// Rows of a core matrix.
const CORE_ROWS: usize = 8;
/// Elements in a row of a core matrix: 16 bytes.
const CORE_COLS: usize = 8;
/// Depth of one instruction, in elements of 16 bits.
const DEPTH: usize = 16;
/// Bytes that a number of a descriptor counts.
const UNIT: usize = 16;
/// Bytes that 14 bits of such units can name.
const REACH: usize = UNIT << 14;

/// Which axis of an operand is contiguous in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Major {
    /// The depth: Q and K in Q K^T.
    K,
    /// The rows of A or the columns of B: V in P V.
    Mn,
}

impl Major {
    /// The immediate `imm-trans-a` or `imm-trans-b` of the instruction.
    #[must_use]
    pub const fn transpose(self) -> u32 {
        match self {
            Self::K => 0,
            Self::Mn => 1,
        }
    }
}

/// Where wgmma reads an operand, all in bytes.
///
/// ```
/// use cute_layout::{GmmaOperand, Major, SmemTile};
/// // A block of 128 keys x 128 columns, as K in Q K^T and as V in P V.
/// let tile = SmemTile::new(128, 128);
/// let k = GmmaOperand::new(tile, Major::K).descriptor(0);
/// let v = GmmaOperand::new(tile, Major::Mn).descriptor(0);
/// assert_eq!(k.stride_byte_offset, 1024);
/// assert_eq!((v.leading_byte_offset, v.stride_byte_offset), (128 * 128, 1024));
/// assert_eq!(v.encode(), 1 << 62 | (1024 / 16) << 32 | (128 * 128 / 16) << 16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GmmaDescriptor {
    /// The address of element `(0, 0)` in shared memory. The 8 rows that it lies in begin at a
    /// multiple of the mode's [`alignment`](SwizzleMode::alignment), so the base offset is 0.
    pub start_address: usize,
    /// MN-major: from an atom to its neighbour along M or N. K-major: no instruction reads it.
    pub leading_byte_offset: usize,
    /// From 8 rows to the next 8.
    pub stride_byte_offset: usize,
    /// The bytes of a row, and how its chunks move.
    pub swizzle: SwizzleMode,
}

impl GmmaDescriptor {
    /// The 64-bit operand of the instruction.
    ///
    /// | bits | field |
    /// |---|---|
    /// | 0-13 | start address / 16 |
    /// | 16-29 | leading dimension byte offset / 16 |
    /// | 32-45 | stride dimension byte offset / 16 |
    /// | 49-51 | base offset: 0 |
    /// | 62-63 | swizzle mode |
    ///
    /// The start address has the low bits to itself and no shared memory fills them: a kernel takes
    /// the word of start 0 as a constant, and adds `address / 16` to its low half.
    ///
    /// # Panics
    ///
    /// If a number is no multiple of 16 bytes, or reaches 256 KiB.
    #[must_use]
    pub const fn encode(self) -> u64 {
        in_units(self.start_address)
            | in_units(self.leading_byte_offset) << 16
            | in_units(self.stride_byte_offset) << 32
            | self.swizzle.descriptor_value() << 62
    }

    /// The same operand, this many bytes further.
    #[must_use]
    pub const fn advance(self, bytes: usize) -> Self {
        Self {
            start_address: self.start_address + bytes,
            ..self
        }
    }

    /// The address of element `(mn, k)` in shared memory, as a closed form of the rules above.
    #[must_use]
    pub const fn address(self, major: Major, mn: usize, k: usize) -> usize {
        let row_elements = self.row_elements();
        let offset = match major {
            Major::K => {
                mn % CORE_ROWS * self.swizzle.row_bytes()
                    + mn / CORE_ROWS * self.stride_byte_offset
                    + k * ELEMENT_BYTES
            }
            Major::Mn => {
                mn % row_elements * ELEMENT_BYTES
                    + mn / row_elements * self.leading_byte_offset
                    + k % CORE_ROWS * self.swizzle.row_bytes()
                    + k / CORE_ROWS * self.stride_byte_offset
            }
        };
        self.swizzle.swizzle().apply(self.start_address + offset)
    }

    /// The operand of one instruction, `(extent, 16)` to bytes: the swizzle after the canonical
    /// layout. It is [`address`](Self::address) from a start of 0.
    ///
    /// # Panics
    ///
    /// If the extent is no multiple of 8, or, MN-major, neither lies within a row nor fills rows.
    #[must_use]
    pub fn layout(self, major: Major, extent: usize) -> Swizzled {
        let (row_bytes, row_elements) = (self.swizzle.row_bytes(), self.row_elements());
        let (lbo, sbo) = (self.leading_byte_offset, self.stride_byte_offset);
        let layout = match major {
            Major::K => {
                assert!(
                    extent.is_multiple_of(CORE_ROWS),
                    "GmmaDescriptor: {extent} rows are no multiple of {CORE_ROWS}"
                );
                Layout::new(
                    (
                        (CORE_ROWS, extent / CORE_ROWS),
                        (CORE_COLS, DEPTH / CORE_COLS),
                    ),
                    ((row_bytes, sbo), (ELEMENT_BYTES, UNIT)),
                )
            }
            Major::Mn => {
                let within = extent.min(row_elements);
                assert!(
                    extent.is_multiple_of(within) && within.is_multiple_of(CORE_COLS),
                    "GmmaDescriptor: {extent} elements neither lie within a row of \
                     {row_elements} nor fill such rows"
                );
                Layout::new(
                    ((within, extent / within), (CORE_ROWS, DEPTH / CORE_ROWS)),
                    ((ELEMENT_BYTES, lbo), (row_bytes, sbo)),
                )
            }
        };
        Swizzled {
            swizzle: self.swizzle.swizzle(),
            layout,
        }
    }

    /// Elements in a row of an atom.
    const fn row_elements(self) -> usize {
        self.swizzle.row_bytes() / ELEMENT_BYTES
    }
}

/// A number of a descriptor.
const fn in_units(bytes: usize) -> u64 {
    assert!(
        bytes.is_multiple_of(UNIT) && bytes < REACH,
        "GmmaDescriptor: a number must be a multiple of 16 bytes below 256 KiB"
    );
    (bytes / UNIT) as u64
}
