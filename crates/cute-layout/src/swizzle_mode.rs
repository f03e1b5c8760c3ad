//! The swizzles that Hopper's copy engine and matrix unit know, by the bytes of their rows.
//!
//! Both work on byte addresses, in chunks of 16 bytes: bits 4 and up are XORed with those 3 above,
//! which count the 128 bytes of all banks. A row as wide as the mode therefore permutes its chunks
//! by its number, and all chunks of a column are in different banks.

use crate::swizzle::Swizzle;

/// log2 of the 16-byte chunk that stays whole.
const CHUNK_BITS: u32 = 4;
/// log2 of the chunks in the 128 bytes of all banks: how far above the changed bits their sources
/// are.
const BANK_BITS: u32 = 3;

/// The swizzle of an atom with rows of 128 or 64 bytes.
///
/// | mode | of byte addresses | chunk `c` of row `r` is at | in a descriptor | in a tensor map |
/// |---|---|---|---|---|
/// | `Bytes128` | `Sw<3,4,3>` | `c ^ (r % 8)` | 1 | 3, `CU_TENSOR_MAP_SWIZZLE_128B` |
/// | `Bytes64` | `Sw<2,4,3>` | `c ^ (r / 2 % 4)` | 2 | 2, `CU_TENSOR_MAP_SWIZZLE_64B` |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SwizzleMode {
    /// Rows of 128 bytes: 8 chunks, permuted by the row.
    Bytes128,
    /// Rows of 64 bytes: 4 chunks, permuted by the pair of rows.
    Bytes64,
}

impl SwizzleMode {
    /// Bytes of a row.
    #[must_use]
    pub const fn row_bytes(self) -> usize {
        1 << (CHUNK_BITS + self.bits())
    }

    /// The permutation of byte addresses.
    #[must_use]
    pub const fn swizzle(self) -> Swizzle {
        Swizzle::new(self.bits(), CHUNK_BITS, BANK_BITS)
    }

    /// The alignment in bytes at which an atom starts, for the swizzle of its addresses to be that
    /// of its offsets: 8 rows.
    #[must_use]
    pub const fn alignment(self) -> usize {
        self.swizzle().period()
    }

    /// The number in bits 62 and 63 of a matrix descriptor.
    ///
    /// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", section "Matrix
    /// Descriptor Format".
    #[must_use]
    pub const fn descriptor_value(self) -> u64 {
        match self {
            Self::Bytes128 => 1,
            Self::Bytes64 => 2,
        }
    }

    /// The number of the mode in a tensor map.
    ///
    /// Source: CUDA driver API, `CUtensorMapSwizzle`.
    #[must_use]
    pub const fn tensor_map_value(self) -> u32 {
        match self {
            Self::Bytes128 => 3,
            Self::Bytes64 => 2,
        }
    }

    /// log2 of the chunks in a row.
    const fn bits(self) -> u32 {
        match self {
            Self::Bytes128 => 3,
            Self::Bytes64 => 2,
        }
    }
}
