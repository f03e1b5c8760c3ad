//! A tiled operation spreads an atom over threads; a partition is what one thread sees of a tile.
//!
//! A partition is a composition: with `L` the layout of a tile and `F(thread, value, rest)` the
//! coordinates that the operation gives a thread, the thread sees `L(F(thread, ..))`. Since layouts
//! are linear, fixing the thread leaves an offset and a layout, which is a [`Partition`]. Applied
//! to the identity layout of a tile, it names the coordinates that the thread owns; two operations
//! meet where these agree, whatever the order of registers or addresses.

mod copy;
mod mma;

pub use copy::TiledCopy;
pub use mma::TiledMma;

use crate::error::LayoutError;
use crate::int_tuple::IntTuple;
use crate::shape_stride::Layout;

/// What one thread owns of a tile: the indices `offset + layout(value, rest, rest)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Partition {
    /// The index of the thread's first element.
    pub offset: usize,
    /// From there, the layout `(value, rest, rest)`: the values of one atom, and its repeats along
    /// either mode.
    pub layout: Layout,
}

impl Partition {
    /// Fixes the thread of `(thread, (value, rest, rest))`.
    fn of_thread(owners: &Layout, thread: usize) -> Result<Self, LayoutError> {
        let (threads, values) = (owners.mode(0), owners.mode(1));
        if thread >= threads.size() {
            return Err(LayoutError::Thread {
                thread,
                threads: threads.size(),
            });
        }
        Ok(Self {
            offset: threads.nth(thread),
            layout: values,
        })
    }

    /// The index of the coordinate `(value, rest, rest)`.
    ///
    /// # Panics
    ///
    /// If the coordinate does not lie in the shape of the layout.
    #[must_use]
    pub fn at(&self, coord: impl Into<IntTuple>) -> usize {
        self.offset + self.layout.at(coord)
    }

    /// All indices that the thread owns, values first.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.layout.indices().map(|index| self.offset + index)
    }

    /// Sees the elements of `self` in the order of `other`: from a coordinate of `other` to the
    /// number of the element in `self`, which is its register in a fragment without gaps.
    ///
    /// Both are partitions of one tile for one thread. With `f` and `g` from their coordinates to
    /// elements of the tile, the view is `left_inverse(f).compose(g)`: it moves nothing, and exists
    /// only where the thread owns the elements already.
    ///
    /// ```
    /// use cute_layout::{Layout, Partition};
    /// let rows_first = Partition { offset: 3, layout: Layout::new((2, 4), (8, 64)) };
    /// let cols_first = Partition { offset: 3, layout: Layout::new((4, 2), (64, 8)) };
    /// assert_eq!(rows_first.reinterpret(&cols_first)?, Layout::new((4, 2), (2, 1)));
    /// # Ok::<(), cute_layout::LayoutError>(())
    /// ```
    pub fn reinterpret(&self, other: &Self) -> Result<Layout, LayoutError> {
        let different_owner = || LayoutError::DifferentOwner {
            from: (self.offset, self.layout.clone()),
            to: (other.offset, other.layout.clone()),
        };
        let number_of = self.layout.left_inverse()?;
        if self.offset != other.offset || other.layout.cosize() > number_of.size() {
            return Err(different_owner());
        }
        let view = number_of.compose(&other.layout)?;
        // A left inverse sends the elements that `self` does not own to numbers beyond its size.
        if view.cosize() > self.layout.size() {
            return Err(different_owner());
        }
        Ok(view)
    }
}

/// The conservation check: how many `(thread, value)` pairs own each index below `size`.
///
/// A copy without replication gives all ones. An operand that several warps read gives their
/// number: what counts the traffic from shared memory to registers.
///
/// # Panics
///
/// If a partition holds an index of `size` or above.
#[must_use]
pub fn owners_per_element(size: usize, partitions: &[Partition]) -> Vec<usize> {
    let mut owners = vec![0; size];
    for index in partitions.iter().flat_map(Partition::indices) {
        owners[index] += 1;
    }
    owners
}

/// The tiler of `extent` neighbours.
fn run_of(extent: usize) -> Layout {
    Layout::compact(extent)
}

/// Checks that a tile has rows and columns.
fn require_matrix(tile: &Layout) -> Result<(), LayoutError> {
    if tile.rank() == 2 {
        Ok(())
    } else {
        Err(LayoutError::Rank {
            layout: tile.clone(),
            expected: 2,
        })
    }
}
