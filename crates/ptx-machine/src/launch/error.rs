//! Why a launch did not run, or what it did wrong.

use crate::violation::Violation;
use thiserror::Error;

/// Why a launch did not run, or what it did wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no such kernel.
    #[error("the module has no kernel {name}")]
    NoKernel {
        /// The name.
        name: String,
    },
    /// The kernel has another number of parameters.
    #[error("the kernel takes {expected} arguments, not {found}")]
    Arguments {
        /// How many it has.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// An argument has another size than its parameter.
    #[error("argument {index} has {found} bytes, its parameter {expected}")]
    ArgumentSize {
        /// Which, from 0.
        index: usize,
        /// The parameter's size.
        expected: usize,
        /// The argument's.
        found: usize,
    },
    /// The block has another shape than `.reqntid` says, or no threads, or more than 1024.
    #[error("blocks of {found:?} threads; the kernel takes {expected}")]
    BlockSize {
        /// What it takes.
        expected: String,
        /// What was asked for.
        found: [u32; 3],
    },
    /// The kernel did something that it must not.
    #[error("{} violations, the first: {}", .0.len(), .0[0])]
    Violations(Vec<Violation>),
}
