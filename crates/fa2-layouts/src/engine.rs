//! What copies and multiplies: threads and warps, or hardware that works beside them.

use std::fmt;
use std::str::FromStr;

use crate::sizes::SizesError;

/// What copies and multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Threads copy, with cp.async and ldmatrix, and warps multiply, with mma.sync.
    Sm80,
    /// The copy engine copies, and warpgroups multiply, with wgmma.
    Sm90,
}

/// How a row of a tile is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowCopy {
    /// Four lanes a row, as in the article.
    HalfRow,
    /// As many lanes as a row of a shared-memory atom has 16-byte chunks: the default of the
    /// SM80 kernels in Rust.
    WholeRow,
    /// By SM90's copy engine, many rows at once; one thread asks for them.
    Bulk,
}

impl RowCopy {
    /// The engine whose kernels copy so.
    #[must_use]
    pub const fn engine(self) -> Engine {
        match self {
            Self::HalfRow | Self::WholeRow => Engine::Sm80,
            Self::Bulk => Engine::Sm90,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sm80 => "SM80",
            Self::Sm90 => "SM90",
        })
    }
}

impl fmt::Display for RowCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HalfRow => "half-row",
            Self::WholeRow => "whole-row",
            Self::Bulk => "bulk",
        })
    }
}

impl FromStr for RowCopy {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        [Self::HalfRow, Self::WholeRow, Self::Bulk]
            .into_iter()
            .find(|row_copy| row_copy.to_string() == text)
            .ok_or(SizesError::RowCopy)
    }
}
