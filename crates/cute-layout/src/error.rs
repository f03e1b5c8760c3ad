//! Where an operation is undefined, the error names the values and the rule they break.

use std::error::Error;
use std::fmt;

use crate::int_tuple::{IntTuple, Shape, Stride};
use crate::shape_stride::Layout;

/// Why a layout, or an operation on layouts, does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A stride without the nesting of its shape.
    Incongruent {
        /// The shape.
        shape: Shape,
        /// The stride.
        stride: Stride,
    },
    /// A shape with an extent of 0.
    EmptyShape {
        /// The shape.
        shape: Shape,
    },
    /// A coordinate outside of a shape.
    Coordinate {
        /// The coordinate.
        coord: IntTuple,
        /// The shape.
        shape: Shape,
    },
    /// A layout with another number of modes than the operation takes.
    Rank {
        /// The layout.
        layout: Layout,
        /// The number of modes wanted.
        expected: usize,
    },
    /// A mode of the inner layout of a composition that straddles a mode of the outer one.
    Straddle {
        /// The outer layout.
        outer: Layout,
        /// The extent and stride of the inner mode.
        inner: (usize, usize),
        /// The extent of the outer mode it does not divide, nor is divided by.
        extent: usize,
    },
    /// An inner layout of a composition that leaves the domain of the outer one.
    OutOfDomain {
        /// The outer layout.
        outer: Layout,
        /// The inner layout.
        inner: Layout,
    },
    /// Modes of the inner layout of a composition whose sum carries from one outer mode into the
    /// next.
    Carry {
        /// The outer layout.
        outer: Layout,
        /// The inner layout.
        inner: Layout,
    },
    /// A layout whose modes overlap, or leave gaps that no layout fills.
    NoComplement {
        /// The layout.
        layout: Layout,
    },
    /// A layout that sends several coordinates to one index, where one was asked back.
    NotInjective {
        /// The layout.
        layout: Layout,
    },
    /// Two views of one tile in which a thread owns different elements.
    DifferentOwner {
        /// What the thread owns in the first view.
        from: (usize, Layout),
        /// What it owns in the second.
        to: (usize, Layout),
    },
    /// A fragment that is not shaped as a C fragment `((2,2),M,N)` or `((2,2,V),M,N)`.
    NotAccumulator {
        /// The fragment.
        layout: Layout,
    },
    /// A thread beyond those of a tiled operation.
    Thread {
        /// The thread.
        thread: usize,
        /// The number of threads.
        threads: usize,
    },
    /// A shared-memory tile whose rows do not fill the 8-row period of its swizzle.
    SmemRows(usize),
    /// A shared-memory tile whose columns do not fill 64-byte rows.
    SmemCols(usize),
    /// A shared-memory address that is not a multiple of the access width.
    Misaligned {
        /// The byte address.
        address: usize,
        /// The access width in bytes.
        width: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incongruent { shape, stride } => {
                write!(f, "stride {stride} is not nested as shape {shape} is")
            }
            Self::EmptyShape { shape } => write!(f, "shape {shape} has an extent of 0"),
            Self::Coordinate { coord, shape } => {
                write!(f, "coordinate {coord} is not in shape {shape}")
            }
            Self::Rank { layout, expected } => {
                write!(f, "{layout} does not have {expected} modes")
            }
            Self::Straddle {
                outer,
                inner: (shape, stride),
                extent,
            } => write!(
                f,
                "{outer} cannot be composed with a mode _{shape}:_{stride}, which straddles an \
                 extent of {extent}"
            ),
            Self::OutOfDomain { outer, inner } => write!(
                f,
                "{outer} cannot be composed with {inner}, which reaches {}, beyond the size {}",
                inner.cosize() - 1,
                outer.size()
            ),
            Self::Carry { outer, inner } => write!(
                f,
                "{outer} cannot be composed with {inner}: modes of the latter add up beyond a mode \
                 of the former"
            ),
            Self::NoComplement { layout } => write!(
                f,
                "{layout} has no complement: sorted by stride, each stride must be a multiple of \
                 the previous extent times stride"
            ),
            Self::NotInjective { layout } => {
                write!(
                    f,
                    "{layout} sends several coordinates to one index, so it has no left inverse"
                )
            }
            Self::DifferentOwner { from, to } => write!(
                f,
                "a thread that owns {} + {} does not own {} + {}",
                from.0, from.1, to.0, to.1
            ),
            Self::NotAccumulator { layout } => {
                write!(
                    f,
                    "{layout} is not shaped as a C fragment ((_2,_2),M,N) or ((_2,_2,V),M,N)"
                )
            }
            Self::Thread { thread, threads } => {
                write!(f, "thread {thread} is not one of {threads}")
            }
            Self::SmemRows(rows) => write!(f, "{rows} rows are not a positive multiple of 8"),
            Self::SmemCols(cols) => write!(f, "{cols} columns are not a positive multiple of 32"),
            Self::Misaligned { address, width } => {
                write!(f, "byte address {address} is not a multiple of {width}")
            }
        }
    }
}

impl Error for LayoutError {}
