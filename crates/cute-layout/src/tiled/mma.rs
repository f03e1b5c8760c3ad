//! A tiled MMA lays a matrix instruction over warps: who holds which elements of A, B and C.

use super::{Partition, require_matrix, run_of};
use crate::error::LayoutError;
use crate::fragment::MmaAtom;
use crate::shape_stride::Layout;

/// A matrix instruction spread over `[along M, along N, along K]` warps, numbered M first; a wgmma
/// over warpgroups, which are its warps here.
///
/// Neighbouring warps take neighbouring atoms; all together repeat until the tile is covered. The
/// article's four warps along M:
///
/// ```
/// use cute_layout::{MmaAtom, TiledMma};
/// let mma = TiledMma::new(MmaAtom::m16n8k16(), [4, 1, 1], [64, 64, 16]);
/// assert_eq!(mma.fragment_a(64, 64)?.mode_sizes(), [8, 1, 4]);
/// assert_eq!(mma.fragment_b(64, 64)?.mode_sizes(), [4, 8, 4]);
/// assert_eq!(
///     mma.fragment_c(64, 64)?.to_string(),
///     "((_2,_2),_1,_8):((_1,_2),_0,_4)"
/// );
/// # Ok::<(), cute_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TiledMma {
    atom: MmaAtom,
    warps: [usize; 3],
    tile: [usize; 3],
}

/// An operand: its thread-value layout and the axes (0 = M, 1 = N, 2 = K) of its rows and columns.
struct Operand<'a> {
    tv: &'a Layout,
    axes: [usize; 2],
}

impl TiledMma {
    /// Spreads an atom over warps. `tile` is what a copy to fragments moves at once, `[m, n, k]`: a
    /// multiple of the atoms of all warps, larger where one copy instruction fills several atoms.
    ///
    /// # Panics
    ///
    /// If a number is 0.
    #[must_use]
    pub fn new(atom: MmaAtom, warps: [usize; 3], tile: [usize; 3]) -> Self {
        assert!(
            !warps.contains(&0) && !tile.contains(&0),
            "TiledMma: warps {warps:?} and tile {tile:?} must not be 0"
        );
        Self { atom, warps, tile }
    }

    /// The instruction.
    #[must_use]
    pub fn atom(&self) -> &MmaAtom {
        &self.atom
    }

    /// The tile `[m, n, k]` of copies to fragments.
    #[must_use]
    pub fn tile(&self) -> [usize; 3] {
        self.tile
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.atom.c().mode(0).size() * self.warps.iter().product::<usize>()
    }

    /// What all threads own of an A tile `(m, k)`: `((lane, warps), (MMA, MMA_M, MMA_K))` to its
    /// indices.
    pub fn owners_a(&self, tile: &Layout) -> Result<Layout, LayoutError> {
        self.owners(tile, &self.a())
    }

    /// What all threads own of a B tile `(n, k)`: `((lane, warps), (MMA, MMA_N, MMA_K))` to its
    /// indices.
    pub fn owners_b(&self, tile: &Layout) -> Result<Layout, LayoutError> {
        self.owners(tile, &self.b())
    }

    /// What all threads own of a C tile `(m, n)`: `((lane, warps), (MMA, MMA_M, MMA_N))` to its
    /// indices.
    pub fn owners_c(&self, tile: &Layout) -> Result<Layout, LayoutError> {
        self.owners(tile, &self.c())
    }

    /// What `thread` owns of an A tile `(m, k)`: `(MMA, MMA_M, MMA_K)`.
    pub fn partition_a(&self, tile: &Layout, thread: usize) -> Result<Partition, LayoutError> {
        Partition::of_thread(&self.owners_a(tile)?, thread)
    }

    /// What `thread` owns of a B tile `(n, k)`: `(MMA, MMA_N, MMA_K)`.
    pub fn partition_b(&self, tile: &Layout, thread: usize) -> Result<Partition, LayoutError> {
        Partition::of_thread(&self.owners_b(tile)?, thread)
    }

    /// What `thread` owns of a C tile `(m, n)`: `(MMA, MMA_M, MMA_N)`.
    pub fn partition_c(&self, tile: &Layout, thread: usize) -> Result<Partition, LayoutError> {
        Partition::of_thread(&self.owners_c(tile)?, thread)
    }

    /// The registers for an `m x k` tile of A: `(MMA, MMA_M, MMA_K)` without gaps.
    pub fn fragment_a(&self, m: usize, k: usize) -> Result<Layout, LayoutError> {
        self.fragment(m, k, &self.a())
    }

    /// The registers for an `n x k` tile of B: `(MMA, MMA_N, MMA_K)` without gaps.
    pub fn fragment_b(&self, n: usize, k: usize) -> Result<Layout, LayoutError> {
        self.fragment(n, k, &self.b())
    }

    /// The registers for an `m x n` tile of C: `(MMA, MMA_M, MMA_N)` without gaps.
    pub fn fragment_c(&self, m: usize, n: usize) -> Result<Layout, LayoutError> {
        self.fragment(m, n, &self.c())
    }

    /// `(thread, value)` to the column-major index in the `m x k` tile of A.
    pub fn layout_a_tv(&self) -> Result<Layout, LayoutError> {
        let [m, _, k] = self.tile;
        self.owners_a(&Layout::compact((m, k)))
    }

    /// `(thread, value)` to the column-major index in the `n x k` tile of B.
    pub fn layout_b_tv(&self) -> Result<Layout, LayoutError> {
        let [_, n, k] = self.tile;
        self.owners_b(&Layout::compact((n, k)))
    }

    /// `(thread, value)` to the column-major index in the `m x n` tile of C.
    pub fn layout_c_tv(&self) -> Result<Layout, LayoutError> {
        let [m, n, _] = self.tile;
        self.owners_c(&Layout::compact((m, n)))
    }

    fn a(&self) -> Operand<'_> {
        Operand {
            tv: self.atom.a(),
            axes: [0, 2],
        }
    }

    fn b(&self) -> Operand<'_> {
        Operand {
            tv: self.atom.b(),
            axes: [1, 2],
        }
    }

    fn c(&self) -> Operand<'_> {
        Operand {
            tv: self.atom.c(),
            axes: [0, 1],
        }
    }

    fn fragment(
        &self,
        rows: usize,
        cols: usize,
        operand: &Operand<'_>,
    ) -> Result<Layout, LayoutError> {
        let owners = self.owners(&Layout::compact((rows, cols)), operand)?;
        Ok(Layout::compact(owners.mode(1).shape()))
    }

    /// `((lane, warps), (value, rest, rest))` to the indices of the tile.
    fn owners(&self, tile: &Layout, operand: &Operand<'_>) -> Result<Layout, LayoutError> {
        require_matrix(tile)?;
        let [row_axis, col_axis] = operand.axes;
        let of_both = |sizes: [usize; 3]| [run_of(sizes[row_axis]), run_of(sizes[col_axis])];
        let divided = tile.zipped_divide(&of_both(self.atom.tile()))?; // ((rows, cols), rest)
        let atom = divided.mode(0).compose(operand.tv)?; // (lane, value)
        let rests = divided.mode(1);
        let rests = rests.logical_divide_modes(&of_both(self.warps))?; // (warps, rest) twice

        // Warps along an axis that the operand does not have hold the same elements: stride 0.
        let mut warps = self.warps.map(|count| Layout::new(count, 0));
        warps[row_axis] = rests.mode(0).mode(0);
        warps[col_axis] = rests.mode(1).mode(0);
        Ok(Layout::from_modes([
            Layout::from_modes([atom.mode(0), Layout::from_modes(warps)]),
            Layout::from_modes([
                atom.mode(1),
                rests.mode(0).mode(1).coalesce(),
                rests.mode(1).mode(1).coalesce(),
            ]),
        ]))
    }
}
