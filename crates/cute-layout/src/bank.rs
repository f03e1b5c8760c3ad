//! Shared memory has 32 banks of 4-byte words; a conflict is a bank asked for several at once.
//!
//! An access moves at most 128 bytes at a time, so wide ones go in phases: 8 bytes a lane in 2
//! phases of 16 lanes, 16 bytes in 4 phases of 8. `ldmatrix` reads a row of 16 bytes per address,
//! one 8-row matrix a phase, which is the 16-byte case. Within a phase, lanes that touch the same
//! word share it.

use crate::error::LayoutError;

/// Lanes of a warp.
const LANES: usize = 32;
/// Banks of shared memory.
const BANKS: usize = 32;
/// Bytes of a bank's word.
const WORD: usize = 4;
/// Bytes of a phase: one word of each bank.
const PHASE: usize = BANKS * WORD;

/// Bytes that each lane accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessWidth {
    /// 4 bytes: one phase of 32 lanes.
    Bytes4,
    /// 8 bytes: 2 phases of 16 lanes.
    Bytes8,
    /// 16 bytes: 4 phases of 8 lanes; also `ldmatrix`, with the row addresses that the lanes
    /// supply.
    Bytes16,
}

impl AccessWidth {
    /// The width in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bytes4 => 4,
            Self::Bytes8 => 8,
            Self::Bytes16 => 16,
        }
    }
}

/// The bank conflict of a warp's access: the most words that one bank supplies in one phase. 1 is
/// free of conflict.
///
/// ```
/// use cute_layout::bank::{AccessWidth, conflict_ways};
/// // One column of rows of 128 bytes: every lane meets the same banks.
/// let column = std::array::from_fn(|lane| 128 * lane);
/// assert_eq!(conflict_ways(&column, AccessWidth::Bytes16)?, 8);
/// # Ok::<(), cute_layout::LayoutError>(())
/// ```
pub fn conflict_ways(addresses: &[usize; LANES], width: AccessWidth) -> Result<usize, LayoutError> {
    let width = width.bytes();
    if let Some(&address) = addresses.iter().find(|a| !a.is_multiple_of(width)) {
        return Err(LayoutError::Misaligned { address, width });
    }
    let phases = addresses.chunks(PHASE / width);
    Ok(phases
        .map(|lanes| phase_ways(lanes, width))
        .fold(1, usize::max))
}

/// The most different words that one bank supplies to these lanes.
fn phase_ways(lanes: &[usize], width: usize) -> usize {
    let mut words: Vec<usize> = lanes
        .iter()
        .flat_map(|address| (address / WORD)..(address + width) / WORD)
        .collect();
    words.sort_unstable();
    words.dedup();
    let mut per_bank = [0; BANKS];
    for word in words {
        per_bank[word % BANKS] += 1;
    }
    per_bank.into_iter().fold(0, usize::max)
}
