//! Why no kernel runs: one variant a rule, with the value and the rule.

use thiserror::Error;

/// Why no kernel serves a problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChooseError {
    /// A size that must not be 0.
    #[error("{name} is 0")]
    Empty {
        /// The size.
        name: &'static str,
    },
    /// Query heads can't be shared out.
    #[error("heads_q = {heads_q} is not a multiple of heads_kv = {heads_kv}")]
    Heads {
        /// Heads of Q.
        heads_q: u32,
        /// Heads of K and V.
        heads_kv: u32,
    },
    /// No kernel has such rows.
    #[error("head_dim {0} is not a multiple of 8 from 8 to 256")]
    HeadDim(u32),
    /// More than the kernel counts to.
    #[error("{name} = {value} is over the limit of {limit}")]
    TooLarge {
        /// What is too large.
        name: &'static str,
        /// Its value.
        value: u64,
        /// What it may be at most.
        limit: u64,
    },
    /// A forced kernel is for other problems.
    #[error("{name} does not serve {problem}")]
    Mismatch {
        /// The kernel.
        name: &'static str,
        /// What it was asked for.
        problem: String,
    },
    /// The unit was left out by `FA2_CUTE_UNITS`.
    #[error("{name} was not compiled: FA2_CUTE_UNITS left its unit {unit} out")]
    NotBuilt {
        /// The kernel.
        name: &'static str,
        /// Its unit.
        unit: &'static str,
    },
    /// The device has too little shared memory.
    #[error("{name} needs {bytes} bytes of shared memory, and the device has {limit}")]
    SharedMemory {
        /// The kernel.
        name: &'static str,
        /// What it needs.
        bytes: u32,
        /// What there is.
        limit: u32,
    },
}
