//! A layout is a function from coordinates to indices: a shape and a stride, `L(c) = sum c_i d_i`.

use crate::error::LayoutError;
use crate::int_tuple::{IntTuple, Shape, Stride};

/// A function from the coordinates of a [`Shape`] to indices, linear with one step per mode.
///
/// A coordinate comes in two forms that name the same point: nested as the shape is
/// ([`at`](Self::at)), or as the colexicographic number of the coordinate, first mode fastest
/// ([`nth`](Self::nth)). The second makes every layout a function on `0..size`, which is what lets
/// layouts be composed.
///
/// ```
/// use cute_layout::Layout;
/// let row_major = Layout::new((4, 8), (8, 1));
/// assert_eq!(row_major.at((2, 3)), 19);
/// assert_eq!(row_major.nth(2 + 4 * 3), 19);
/// assert_eq!(row_major.to_string(), "(_4,_8):(_8,_1)");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    stride: Stride,
}

impl Layout {
    /// The layout `shape:stride`.
    ///
    /// # Panics
    ///
    /// Where [`try_new`](Self::try_new) returns an error; meant for literals.
    #[must_use]
    pub fn new(shape: impl Into<Shape>, stride: impl Into<Stride>) -> Self {
        match Self::try_new(shape, stride) {
            Ok(layout) => layout,
            Err(error) => panic!("{error}"),
        }
    }

    /// The layout `shape:stride`, when the two are congruent and no extent is 0.
    pub fn try_new(
        shape: impl Into<Shape>,
        stride: impl Into<Stride>,
    ) -> Result<Self, LayoutError> {
        let (shape, stride) = (shape.into(), stride.into());
        if !shape.is_congruent(&stride) {
            return Err(LayoutError::Incongruent { shape, stride });
        }
        if shape.size() == 0 {
            return Err(LayoutError::EmptyShape { shape });
        }
        Ok(Self { shape, stride })
    }

    /// The layout that maps the colexicographic number of a coordinate to itself: column-major,
    /// without gaps.
    ///
    /// # Panics
    ///
    /// If an extent is 0.
    #[must_use]
    pub fn compact(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        let mut step = 1;
        let stride = shape.map(&mut |extent| advance(&mut step, extent));
        Self::new(shape, stride)
    }

    /// The row-major layout without gaps: the last mode is the fastest.
    ///
    /// # Panics
    ///
    /// If an extent is 0.
    #[must_use]
    pub fn compact_row(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        let mut step = 1;
        let mut strides: Vec<usize> = shape
            .leaves()
            .into_iter()
            .rev()
            .map(|extent| advance(&mut step, extent))
            .collect();
        let stride = shape.map(&mut |_| strides.pop().unwrap_or(0));
        Self::new(shape, stride)
    }

    /// The layout with these layouts as its modes: `L(c0, c1, ..) = L0(c0) + L1(c1) + ..`.
    #[must_use]
    pub fn from_modes(modes: impl IntoIterator<Item = Self>) -> Self {
        let (shape, stride) = modes.into_iter().map(|m| (m.shape, m.stride)).unzip();
        Self {
            shape: IntTuple::Tuple(shape),
            stride: IntTuple::Tuple(stride),
        }
    }

    /// The flat layout with these `(extent, stride)` pairs; one pair gives a mode without a tuple,
    /// none gives `1:0`.
    pub(crate) fn from_flat(modes: Vec<(usize, usize)>) -> Self {
        if modes.is_empty() {
            return Self::new(1, 0);
        }
        let (shape, stride) = modes.into_iter().unzip();
        Self {
            shape: IntTuple::from_leaves(shape),
            stride: IntTuple::from_leaves(stride),
        }
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The steps.
    #[must_use]
    pub fn stride(&self) -> &Stride {
        &self.stride
    }

    /// The number of coordinates.
    #[must_use]
    pub fn size(&self) -> usize {
        self.shape.size()
    }

    /// One more than the largest index: the storage a tensor with this layout needs.
    #[must_use]
    pub fn cosize(&self) -> usize {
        1 + self.modes().iter().map(|(s, d)| (s - 1) * d).sum::<usize>()
    }

    /// The number of top-level modes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// The depth of nesting of the shape.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// The top-level mode `i`, a layout itself.
    ///
    /// # Panics
    ///
    /// If `i` is not below [`rank`](Self::rank).
    #[must_use]
    pub fn mode(&self, i: usize) -> Self {
        Self {
            shape: self.shape.members()[i].clone(),
            stride: self.stride.members()[i].clone(),
        }
    }

    /// The sizes of the top-level modes, such as `[4, 1, 8]` for `((2,2),1,8)`.
    #[must_use]
    pub fn mode_sizes(&self) -> Vec<usize> {
        self.shape.members().iter().map(IntTuple::size).collect()
    }

    /// The flat list of `(extent, stride)`, left to right: what remains of a layout as a function
    /// on `0..size`.
    #[must_use]
    pub fn modes(&self) -> Vec<(usize, usize)> {
        self.shape
            .leaves()
            .into_iter()
            .zip(self.stride.leaves())
            .collect()
    }

    /// The same function on `0..size` without the nesting.
    #[must_use]
    pub fn flatten(&self) -> Self {
        Self::from_flat(self.modes())
    }

    /// The index of a coordinate, nested as the shape is; an integer where the shape has a tuple is
    /// the colexicographic number of the coordinate within it.
    ///
    /// # Panics
    ///
    /// Where [`try_at`](Self::try_at) returns an error.
    #[must_use]
    pub fn at(&self, coord: impl Into<IntTuple>) -> usize {
        match self.try_at(coord) {
            Ok(index) => index,
            Err(error) => panic!("{error}"),
        }
    }

    /// The index of a coordinate as [`at`](Self::at) gives it, when the coordinate lies in the
    /// shape.
    pub fn try_at(&self, coord: impl Into<IntTuple>) -> Result<usize, LayoutError> {
        let coord = coord.into();
        evaluate(&coord, &self.shape, &self.stride).ok_or_else(|| LayoutError::Coordinate {
            coord,
            shape: self.shape.clone(),
        })
    }

    /// The index of the `i`-th coordinate in colexicographic order.
    ///
    /// # Panics
    ///
    /// If `i` is not below [`size`](Self::size).
    #[must_use]
    pub fn nth(&self, i: usize) -> usize {
        self.at(i)
    }

    /// All indices, in colexicographic order of their coordinates.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.size()).map(|i| self.nth(i))
    }
}

/// The stride of the next compact mode. A mode of extent 1 has no second element to step to: it
/// gets 0, as in CuTe.
fn advance(step: &mut usize, extent: usize) -> usize {
    let stride = if extent == 1 { 0 } else { *step };
    *step *= extent;
    stride
}

/// The index of `coord`, or `None` where it leaves the shape.
fn evaluate(coord: &IntTuple, shape: &Shape, stride: &Stride) -> Option<usize> {
    match (coord, shape, stride) {
        (IntTuple::Int(c), IntTuple::Int(extent), IntTuple::Int(step)) => {
            (c < extent).then(|| c * step)
        }
        (IntTuple::Int(c), IntTuple::Tuple(shapes), IntTuple::Tuple(strides)) => {
            let (mut rest, mut index) = (*c, 0);
            for (shape, stride) in shapes.iter().zip(strides) {
                let size = shape.size();
                index += evaluate(&IntTuple::Int(rest % size), shape, stride)?;
                rest /= size;
            }
            // A quotient left over means that `c` was not below the size.
            (rest == 0).then_some(index)
        }
        (IntTuple::Tuple(coords), IntTuple::Tuple(shapes), IntTuple::Tuple(strides))
            if coords.len() == shapes.len() =>
        {
            let modes = coords.iter().zip(shapes.iter().zip(strides));
            modes
                .map(|(coord, (shape, stride))| evaluate(coord, shape, stride))
                .sum()
        }
        _ => None,
    }
}
