//! A tiled copy lays a copy atom over threads and values until it covers a tile, then repeats.

use super::{Partition, TiledMma, require_matrix, run_of};
use crate::error::LayoutError;
use crate::fragment::CopyAtom;
use crate::shape_stride::Layout;

/// A copy atom spread over threads: who moves which element of a `rows x cols` tile.
///
/// The article's copy, 32 x 4 threads of 8 halves each:
///
/// ```
/// use cute_layout::{CopyAtom, Layout, TiledCopy};
/// let g2s = TiledCopy::new(
///     CopyAtom::cp_async_16(),
///     &Layout::new((32, 4), (4, 1)),
///     &Layout::compact((1, 8)),
/// )?;
/// assert_eq!(g2s.layout_tv().to_string(), "((_4,_32),_8):((_256,_1),_32)");
///
/// let gq = Layout::new((64, 64), (64, 1));
/// let tq_gq = g2s.partition_src(&gq, 5)?; // (COPY, COPY_M, COPY_D)
/// assert_eq!(tq_gq.offset, 64 + 8);
/// assert_eq!(tq_gq.layout.to_string(), "((_8,_1),_2,_2):((_1,_0),_2048,_32)");
/// # Ok::<(), cute_layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TiledCopy {
    atom: CopyAtom,
    tile: [usize; 2],
    /// `(thread, value)` to the column-major index in `tile`, values in the order of the atom's
    /// destination.
    tv: Layout,
}

impl TiledCopy {
    /// Spreads an atom over `threads`, a layout `(row, col) -> thread`, each with a block of
    /// `values`, a layout `(row, col) -> value`.
    ///
    /// The tile covered is `threads x values` large, blocks side by side. Both layouts must be
    /// bijections.
    pub fn new(atom: CopyAtom, threads: &Layout, values: &Layout) -> Result<Self, LayoutError> {
        require_matrix(threads)?;
        require_matrix(values)?;
        let (thread_sizes, value_sizes) = (threads.mode_sizes(), values.mode_sizes());
        let (block_rows, block_cols) = (value_sizes[0], value_sizes[1]);
        let rows = thread_sizes[0] * block_rows;
        let cols = thread_sizes[1] * block_cols;

        // From the number of a block, or of an element within one, to the index in the tile.
        let blocks = Layout::new(
            (thread_sizes[0], thread_sizes[1]),
            (block_rows, block_cols * rows),
        );
        let elements = Layout::new((block_rows, block_cols), (1, rows));
        Ok(Self {
            atom,
            tile: [rows, cols],
            tv: Layout::from_modes([
                blocks.compose(&threads.left_inverse()?)?,
                elements.compose(&values.left_inverse()?)?,
            ]),
        })
    }

    /// The copy whose destination registers are the A fragment of `mma`.
    pub fn for_a(atom: CopyAtom, mma: &TiledMma) -> Result<Self, LayoutError> {
        let [m, _, k] = mma.tile();
        Ok(Self {
            atom,
            tile: [m, k],
            tv: mma.layout_a_tv()?,
        })
    }

    /// The copy whose destination registers are the B fragment of `mma`.
    pub fn for_b(atom: CopyAtom, mma: &TiledMma) -> Result<Self, LayoutError> {
        let [_, n, k] = mma.tile();
        Ok(Self {
            atom,
            tile: [n, k],
            tv: mma.layout_b_tv()?,
        })
    }

    /// The copy whose source registers are the C fragment of `mma`.
    pub fn for_c(atom: CopyAtom, mma: &TiledMma) -> Result<Self, LayoutError> {
        let [m, n, _] = mma.tile();
        Ok(Self {
            atom,
            tile: [m, n],
            tv: mma.layout_c_tv()?,
        })
    }

    /// The instruction.
    #[must_use]
    pub fn atom(&self) -> &CopyAtom {
        &self.atom
    }

    /// The rows and columns that all threads cover before they repeat.
    #[must_use]
    pub fn tile(&self) -> [usize; 2] {
        self.tile
    }

    /// `(thread, value)` to the column-major index in the [`tile`](Self::tile).
    #[must_use]
    pub fn layout_tv(&self) -> &Layout {
        &self.tv
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.tv.mode(0).size()
    }

    /// What all threads name at the source, a tile `(rows, cols)`: `((thread, groups), ((value,
    /// atoms), rest, rest))` to its indices.
    pub fn owners_src(&self, tile: &Layout) -> Result<Layout, LayoutError> {
        self.owners(tile, self.atom.src())
    }

    /// What all threads get at the destination, a tile `(rows, cols)`: `((thread, groups),
    /// ((value, atoms), rest, rest))` to its indices.
    pub fn owners_dst(&self, tile: &Layout) -> Result<Layout, LayoutError> {
        self.owners(tile, self.atom.dst())
    }

    /// What `thread` names at the source, a tile `(rows, cols)`: `((value, atoms), rest, rest)`.
    pub fn partition_src(&self, tile: &Layout, thread: usize) -> Result<Partition, LayoutError> {
        Partition::of_thread(&self.owners_src(tile)?, thread)
    }

    /// What `thread` gets at the destination, a tile `(rows, cols)`: `((value, atoms), rest,
    /// rest)`.
    pub fn partition_dst(&self, tile: &Layout, thread: usize) -> Result<Partition, LayoutError> {
        Partition::of_thread(&self.owners_dst(tile)?, thread)
    }

    /// The registers of a fragment in the order this copy fills them: `((value, atoms), rest,
    /// rest)` to register.
    ///
    /// `fragment` says which elements of the `rows x cols` tile the registers of `thread` hold, as
    /// a partition of the identity layout. Nothing is allocated or moved: the copy then writes the
    /// fragment's own registers.
    pub fn retile_dst(
        &self,
        fragment: &Partition,
        rows: usize,
        cols: usize,
        thread: usize,
    ) -> Result<Layout, LayoutError> {
        let identity = Layout::compact((rows, cols));
        fragment.reinterpret(&self.partition_dst(&identity, thread)?)
    }

    fn owners(&self, tile: &Layout, side: &Layout) -> Result<Layout, LayoutError> {
        require_matrix(tile)?;
        let [rows, cols] = self.tile;
        let divided = tile.zipped_divide(&[run_of(rows), run_of(cols)])?; // ((rows, cols), rest)
        let (tiles, rests) = (divided.mode(0), divided.mode(1));
        let owned = tiles.compose(&self.side_tv(side)?)?; // ((thread, groups), (value, atoms))
        let values = Layout::from_modes([
            owned.mode(1).coalesce_modes(),
            rests.mode(0).coalesce(),
            rests.mode(1).coalesce(),
        ]);
        Ok(Layout::from_modes([owned.mode(0), values]))
    }

    /// The thread-value layout of one side of the atom: `((thread,groups),(value,atoms))` to index
    /// in the tile.
    fn side_tv(&self, side: &Layout) -> Result<Layout, LayoutError> {
        let atoms = self
            .tv
            .zipped_divide(&[run_of(self.atom.threads()), run_of(self.atom.values())])?;
        let (atom, repeats) = (atoms.mode(0), atoms.mode(1));
        // An element of the atom is found by who holds it at the destination, the side that `tv`
        // speaks of.
        let to_destination = self.atom.dst().right_inverse().compose(side)?;
        let atom = atom.compose(&to_destination)?;
        Ok(Layout::from_modes([
            Layout::from_modes([atom.mode(0), repeats.mode(0)]),
            Layout::from_modes([atom.mode(1), repeats.mode(1)]),
        ]))
    }
}
