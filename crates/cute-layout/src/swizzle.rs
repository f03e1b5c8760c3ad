//! A swizzle permutes indices by XOR, to spread the columns of a tile over shared-memory banks.
//!
//! `Sw<B, M, S>` takes the `B` bits of `x` above bit `M + S` and XORs them onto the `B` bits above
//! bit `M`:
//!
//! ```text
//! x' = x ^ ((x >> S) & mask),   mask = (2^B - 1) << M,   S >= B
//! ```
//!
//! Three laws follow, for all indices:
//!
//! * the source bits do not change, so applying it twice gives `x` back: it is a bijection;
//! * the low `M` bits do not change: vectors of `2^M` elements stay whole and aligned;
//! * it is linear over XOR: for `a & b == 0`, `apply(a | b) == apply(a) ^ apply(b)`. This lets a
//!   kernel split an address into a part that depends on the lane, swizzled once, and constants,
//!   swizzled when it is compiled.

use crate::shape_stride::Layout;

/// The permutation `Sw<bits, base, shift>` of indices.
///
/// ```
/// use cute_layout::Swizzle;
/// let swizzle = Swizzle::new(3, 3, 3);
/// // Row 5, column 16 of rows of 64 elements: column chunk 2 moves to chunk 2 ^ 5 = 7.
/// assert_eq!(swizzle.apply(64 * 5 + 16), 64 * 5 + 8 * 7);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: u32,
}

impl Swizzle {
    /// The swizzle that leaves every index alone.
    pub const IDENTITY: Self = Self::new(0, 0, 0);

    /// `Sw<bits, base, shift>`.
    ///
    /// # Panics
    ///
    /// If `shift < bits`, where the swizzle would change its own source bits and cease to be its
    /// own inverse.
    #[must_use]
    pub const fn new(bits: u32, base: u32, shift: u32) -> Self {
        assert!(
            shift >= bits,
            "Swizzle: the shift must not be smaller than the number of bits"
        );
        Self { bits, base, shift }
    }

    /// The number of bits changed.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The number of low bits left alone: vectors of `2^base` elements stay whole.
    #[must_use]
    pub const fn base(self) -> u32 {
        self.base
    }

    /// The distance from the changed bits up to those XORed onto them.
    #[must_use]
    pub const fn shift(self) -> u32 {
        self.shift
    }

    /// The bits changed, as a mask.
    #[must_use]
    pub const fn mask(self) -> usize {
        ((1 << self.bits) - 1) << self.base
    }

    /// The number of indices after which the pattern repeats: a multiple of it passes through a
    /// sum, `apply(x + n * period) == apply(x) + n * period`.
    #[must_use]
    pub const fn period(self) -> usize {
        1 << (self.bits + self.base + self.shift)
    }

    /// The index that `index` moves to.
    #[must_use]
    pub const fn apply(self, index: usize) -> usize {
        index ^ ((index >> self.shift) & self.mask())
    }
}

/// A layout followed by a swizzle: the logical coordinates stay, the addresses move.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Swizzled {
    /// The permutation of the indices, applied last.
    pub swizzle: Swizzle,
    /// The layout, applied first.
    pub layout: Layout,
}

impl Swizzled {
    /// The index of a coordinate, as [`Layout::at`] takes it.
    ///
    /// # Panics
    ///
    /// If the coordinate does not lie in the shape.
    #[must_use]
    pub fn at(&self, coord: impl Into<crate::IntTuple>) -> usize {
        self.swizzle.apply(self.layout.at(coord))
    }

    /// The index of the `i`-th coordinate in colexicographic order.
    ///
    /// # Panics
    ///
    /// If `i` is not below [`size`](Self::size).
    #[must_use]
    pub fn nth(&self, i: usize) -> usize {
        self.swizzle.apply(self.layout.nth(i))
    }

    /// The number of coordinates.
    #[must_use]
    pub fn size(&self) -> usize {
        self.layout.size()
    }
}
