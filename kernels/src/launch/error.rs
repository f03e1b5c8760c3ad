//! Why a kernel was not launched.

use crate::error::ChooseError;
use fa2_cubecl::Fa2Error;
use thiserror::Error;

/// Why a CuTe kernel was not launched.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CuteError {
    /// A rule that holds for every engine: the problem, a tensor, the device.
    #[error(transparent)]
    Problem(#[from] Fa2Error),
    /// No kernel of this build serves the problem on the device.
    #[error(transparent)]
    Choose(#[from] ChooseError),
    /// The CUDA driver refused.
    #[error("CUDA could not {step} on device {device}: {reason}")]
    Driver {
        /// What was tried.
        step: String,
        /// Index of the CUDA device.
        device: u16,
        /// The driver's words.
        reason: String,
    },
}
