//! The kernels of fa2-cubecl without a GPU: the PTX that CubeCL compiles, run by ptx-machine.
//!
//! ```no_run
//! use fa2_machine::Kernel;
//! use fa2_testing::{Case, inputs};
//! use half::f16;
//!
//! let case = Case::new("example", 1, 2, 97, 64);
//! let kernel = Kernel::chosen::<f16>(&case, 80)?;
//! let run = kernel.forward(&case, &inputs::generate::<f16>(&case, 1), 2)?;
//! println!("{}", run.measures);
//! # Ok::<(), fa2_machine::Error>(())
//! ```

mod backward;
mod element;
mod kernel;

pub use backward::{BackwardInputs, BackwardKernels, BackwardRun};
pub use element::{KernelElement, problem};
pub use kernel::{Error, Kernel, Run};
