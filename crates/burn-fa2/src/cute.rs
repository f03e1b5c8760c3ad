//! The CuTe kernels, where they were compiled in.

use burn::tensor::Device;
use cubecl::client::Client;
use fa2_cubecl::{FwdTensors, Problem};

use crate::error::Reason;

/// Loads the kernel that will run `problem`; that of a device whose name an error tells.
#[cfg(feature = "cute")]
pub(crate) fn prepare(client: &Client, problem: &Problem, _: &Device) -> Result<(), Reason> {
    use fa2_cute::launch::{CuteError, prepare};
    match prepare(client, problem, None) {
        Ok(_) => Ok(()),
        Err(error @ CuteError::Driver { .. }) => Err(Reason::Compilation(error.to_string())),
        Err(error) => Err(Reason::Rule(error.to_string())),
    }
}

/// Enqueues O and LSE of `problem`, which [`prepare`] has accepted.
#[cfg(feature = "cute")]
pub(crate) fn forward(
    client: &Client,
    problem: &Problem,
    tensors: &FwdTensors,
) -> Result<(), String> {
    match fa2_cute::launch::forward(client, problem, tensors, None) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(not(feature = "cute"))]
pub(crate) fn prepare(_: &Client, _: &Problem, device: &Device) -> Result<(), Reason> {
    Err(Reason::NotCompiled {
        feature: "cute",
        device: crate::validate::name(device),
    })
}

#[cfg(not(feature = "cute"))]
pub(crate) fn forward(_: &Client, _: &Problem, _: &FwdTensors) -> Result<(), String> {
    unreachable!("`prepare` accepts nothing")
}
