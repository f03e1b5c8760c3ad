//! The index maps of the FlashAttention-2 forward, by name: as layouts and as formulas.
//!
//! ```text
//! Sizes + Name -> Map: Owners     (thread, value) -> (row, column) of a tile
//!                      Storage    (row, column)   -> element offset in shared memory
//!                      Registers  value           -> register of the same thread
//!                      Descriptors (mu, kappa)    -> bytes from the tile to where a wgmma reads
//!                        `-> formula: the same function in digits of t and v
//! ```
//!
//! The kernels for SM80 and those for SM90 have maps of their own, and the tiles in shared memory in
//! common. The maps are built from [`cute_layout`] alone. Two tests hold the kernels to them: one in
//! `fa2-cubecl`, whose addresses and registers must be these, and one in `kernels`, which compares
//! them with what CuTe itself prints. A formula is derived from its layout, and a test evaluates its
//! text for every thread and value.
//!
//! ```
//! use fa2_layouts::{Name, Sizes};
//! let map = Name::MmaC.map(&Sizes::ARTICLE)?;
//! assert_eq!(map.formula().to_string(), "\
//! m = 16 w + 8 c1 + g
//! n = 8 nu + 2 q + c0
//! q = t % 4, g = t / 4 % 8, w = t / 32
//! c0 = v % 2, c1 = v / 2 % 2, nu = v / 4
//! ");
//! # Ok::<(), fa2_layouts::MapError>(())
//! ```

mod at_sizes;
mod copies;
mod descriptors;
mod digit;
mod engine;
mod formula;
mod map;
mod name;
mod products;
mod sizes;
mod warpgroup;

pub use at_sizes::MapError;
pub use descriptors::Descriptors;
pub use digit::{Axis, Digit};
pub use engine::{Engine, RowCopy};
pub use formula::{Equation, Expr, Formula};
pub use map::{Map, Owners, Registers, Storage};
pub use name::{Name, UnknownName};
pub use sizes::{HEAD_DIMS, Sizes, SizesError};
