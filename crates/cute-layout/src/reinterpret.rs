//! The C registers of S = Q K^T are the A registers of O = P V under other coordinates.
//!
//! A thread holds `S(m, n)` in its C fragment at `n = 8 nu + 2q + c0`, and needs `P(m, k)` in its A
//! fragment at `k = 16 kappa + 2q + a0 + 8 a2`; rows agree with `a1 = c1`. Setting `n = k` gives
//! `a0 = c0` and `nu = 2 kappa + a2`. The algebra finds this by itself: with `f` and `g` from the
//! coordinates of the C and the A fragment to elements of the tile, the view is
//! `left_inverse(f).compose(g)`. A wgmma has the same formulas, with `nu` a digit of its own value,
//! and so the same view.

use crate::error::LayoutError;
use crate::int_tuple::IntTuple;
use crate::shape_stride::Layout;
use crate::tiled::TiledMma;

/// From a coordinate `(MMA, MMA_M, MMA_K)` of the A fragment of an `m x n` tile to the register of
/// the C fragment that holds the element, the same for every thread.
///
/// ```
/// use cute_layout::{MmaAtom, TiledMma, c_to_a};
/// let mma = TiledMma::new(MmaAtom::m16n8k16(), [4, 1, 1], [64, 64, 16]);
/// assert_eq!(
///     c_to_a(&mma, 64, 64)?.to_string(),
///     "((_2,_2,_2),_1,_4):((_1,_2,_4),_0,_8)"
/// );
/// # Ok::<(), cute_layout::LayoutError>(())
/// ```
///
/// An error means that no such view exists, as with warps along N: another thread holds the
/// element.
pub fn c_to_a(mma: &TiledMma, m: usize, n: usize) -> Result<Layout, LayoutError> {
    let tile = Layout::compact((m, n));
    let view_of = |thread| {
        let as_c = mma.partition_c(&tile, thread)?;
        let as_a = mma.partition_a(&tile, thread)?;
        as_c.reinterpret(&as_a)
    };
    // The layouts do not depend on the thread, so all views are equal; the owners may still differ.
    let view = view_of(0)?;
    for thread in 1..mma.threads() {
        view_of(thread)?;
    }
    Ok(view)
}

/// A C fragment `((c0, c1), M, N)` as the matrix a thread holds: `((c1, M), (c0, N))`. That of a
/// wgmma is `((c0, c1, nu), M, N)` and becomes `((c1, M), (c0, nu, N))`; an A fragment has the same
/// form, and the same meaning.
///
/// The first mode runs through the rows of the thread, which softmax reduces one by one; the second
/// through the columns of a row.
///
/// ```
/// use cute_layout::{Layout, row_col_view};
/// let view = row_col_view(&Layout::compact(((2, 2), 1, 8)))?;
/// assert_eq!(view.to_string(), "((_2,_1),(_2,_8)):((_2,_0),(_1,_4))");
/// # Ok::<(), cute_layout::LayoutError>(())
/// ```
pub fn row_col_view(fragment: &Layout) -> Result<Layout, LayoutError> {
    let is_accumulator = fragment.rank() == 3
        && matches!(fragment.mode(0).shape().members(), [c0, c1] | [c0, c1, IntTuple::Int(_)]
            if [c0, c1] == [&IntTuple::Int(2); 2]);
    if !is_accumulator {
        return Err(LayoutError::NotAccumulator {
            layout: fragment.clone(),
        });
    }
    let (values, m, n) = (fragment.mode(0), fragment.mode(1), fragment.mode(2));
    let columns = [values.mode(0)]
        .into_iter()
        .chain((2..values.rank()).map(|i| values.mode(i)))
        .chain([n]);
    Ok(Layout::from_modes([
        Layout::from_modes([values.mode(1), m]),
        Layout::from_modes(columns),
    ]))
}
