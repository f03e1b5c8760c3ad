//! CuTe's layout algebra: layouts as functions.
//!
//! A [`Layout`] is a function from coordinates to indices, written `Shape:Stride`. `(4,8):(8,1)`
//! sends `(i, j)` to `8 i + j`; nested shapes name coordinates hierarchically. Because a coordinate
//! also has a number, every layout is a function on `0..size`, and the questions a GPU kernel asks
//! become algebra on functions:
//!
//! | question | operation |
//! |---|---|
//! | where does this view find its element? | [`compose`](Layout::compose): `R(c) = A(B(c))` |
//! | which tile, and which element in it? | [`zipped_divide`](Layout::zipped_divide) |
//! | who holds this element? | [`left_inverse`](Layout::left_inverse): `R(L(i)) = i` |
//! | which elements are mine? | [`TiledCopy`], [`TiledMma`]: composition, with the thread fixed |
//! | do these registers already hold what the next instruction needs? | [`c_to_a`] |
//! | do these addresses meet in a bank? | [`Swizzle`], [`bank`] |
//! | how does Hopper's matrix unit find this tile? | [`GmmaOperand`], [`GmmaDescriptor`] |
//!
//! The crate knows no GPU: it computes on integers, at build time of a kernel or in a test of one.
//! Where an operation is undefined it returns a [`LayoutError`] that names the values and the rule;
//! an `Ok` is the function it claims to be.
//!
//! # Symbols
//!
//! | symbol | meaning |
//! |---|---|
//! | `s:d` | a mode: `s` elements, `d` apart |
//! | `m`, `n`, `k` | rows of A and C, rows of B and columns of C, columns of A and B |
//! | `g`, `q` | `lane / 4` and `lane % 4` |
//! | `w` | warp of a warpgroup, in wgmma |
//! | `(a0,a1,a2)`, `(b0,b1)`, `(c0,c1)` | registers of a lane in one m16n8k16; in wgmma `(c0,c1,nu)` |
//! | `kappa`, `nu` | repeats of the instruction along k and n |
//! | TV | `(thread, value)`, the coordinates of a register |
//!
//! # The view at the heart of FlashAttention-2
//!
//! Scores leave the first product in C fragments and enter the second as an A operand. No data
//! moves, because each thread already holds what it needs, and the algebra finds the view:
//!
//! ```
//! use cute_layout::{Layout, MmaAtom, TiledMma};
//!
//! let mma = TiledMma::new(MmaAtom::m16n8k16(), [4, 1, 1], [64, 64, 16]);
//! let scores = Layout::compact((64, 64));
//! let as_c = mma.partition_c(&scores, 0)?.layout; // (MMA, MMA_M, MMA_N) to (m, n)
//! let as_a = mma.partition_a(&scores, 0)?.layout; // (MMA, MMA_M, MMA_K) to (m, k = n)
//!
//! let register = as_c.left_inverse()?.compose(&as_a)?;
//! assert_eq!(register.to_string(), "((_2,_2,_2),_1,_4):((_1,_2,_4),_0,_8)");
//! # Ok::<(), cute_layout::LayoutError>(())
//! ```

pub mod bank;
mod coalesce;
mod complement;
mod compose;
mod divide;
mod draw;
mod error;
pub mod fragment;
mod gmma;
mod int_tuple;
mod inverse;
mod print;
mod reinterpret;
mod shape_stride;
mod swizzle;
mod swizzle_mode;
mod tile;
mod tiled;

pub use draw::{Cell, draw_cells, draw_tv};
pub use error::LayoutError;
pub use fragment::{CopyAtom, MmaAtom};
pub use gmma::{GmmaDescriptor, GmmaOperand, Major};
pub use int_tuple::{IntTuple, Shape, Stride};
pub use reinterpret::{c_to_a, row_col_view};
pub use shape_stride::Layout;
pub use swizzle::{Swizzle, Swizzled};
pub use swizzle_mode::SwizzleMode;
pub use tile::SmemTile;
pub use tiled::{Partition, TiledCopy, TiledMma, owners_per_element};
