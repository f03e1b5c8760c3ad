//! FlashAttention-2's forward in CUDA C++ with CuTe: a fatbin, and the table of what is in it.
//!
//! The kernels serve the same problems as `fa2-cubecl`, and their sources mirror its files' names.
//! Without the feature `launch` there are no CUDA calls: whoever launches loads [`FATBIN`], looks a
//! [`KernelInfo`]'s name up, and passes the one [`FwdParams`]. With it, the module `launch` runs them
//! in CubeCL's stream.
//!
//! ```no_run
//! use fa2_cute::{Choice, Dtype, FwdProblem, Gpu, MaskKind, choose};
//! let problem = FwdProblem {
//!     batch: 2,
//!     heads_q: 8,
//!     heads_kv: 2,
//!     seq_q: 1000,
//!     seq_k: 1000,
//!     head_dim: 128,
//!     dtype: Dtype::F16,
//!     mask: MaskKind::Causal,
//! };
//! let Choice { kernel, grid_x, .. } = choose(&problem, Gpu { shared_bytes: 232_448 })?;
//! assert_eq!(kernel.name, "fa2_fwd_f16_d128_causal");
//! assert_eq!(grid_x, 2 * 8 * 1000_u32.div_ceil(kernel.block_m));
//! # Ok::<(), fa2_cute::ChooseError>(())
//! ```

mod choose;
mod error;
mod kernels;
#[cfg(feature = "launch")]
pub mod launch;
mod params;

pub use choose::{Choice, FwdProblem, Gpu, choose, choose_kernel, teaching_grid};
pub use error::ChooseError;
pub use kernels::{Dtype, Family, KernelInfo, MaskKind, kernel, kernels};
pub use params::{FwdParams, FwdStrides, TeachingParams};

/// Machine code of the kernels for several architectures, and PTX for those that come after; for
/// `cuModuleLoadData`. Empty where `FA2_CUTE_UNITS=none` was set.
pub static FATBIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fa2.fatbin"));

/// What ptxas said: `arch kernel registers stack spill_stores spill_loads`, a line a kernel and
/// architecture.
pub static REPORT: &str = include_str!(concat!(env!("OUT_DIR"), "/report.txt"));
