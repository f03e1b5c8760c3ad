//! The kernels for SM90 compiled to PTX without a GPU.

use super::{Ptx, buffer, compile_definition, device_properties, settings, shape};
use crate::config::WARP;
use crate::config::sm90::FwdSm90Config;
use crate::kernel::forward_sm90::forward_sm90::ForwardSm90;
use crate::kernel::forward_sm90::maps::tensor_maps::TensorMaps;
use cubecl::prelude::*;
use std::sync::Arc;

/// The compute capability of the kernels.
pub const SM: u32 = 90;

/// Compiles the forward kernel of `config`.
///
/// # Errors
/// The compiler's message.
pub fn compile(config: FwdSm90Config) -> Result<Ptx, String> {
    let kernel = ForwardSm90::new(
        settings(config.threads()),
        device_properties(),
        Arc::new(TargetProperties::default()),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        shape(),
        config,
    );
    let definition = cubecl::define_kernel(&kernel).map_err(|error| format!("{error:?}"))?;
    compile_definition(definition, SM)
}

/// Compiles the kernel that makes the tensor maps for that of `config`.
///
/// # Errors
/// The compiler's message.
pub fn compile_maps(config: FwdSm90Config) -> Result<Ptx, String> {
    let kernel = TensorMaps::new(
        settings(WARP),
        device_properties(),
        Arc::new(TargetProperties::default()),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        shape(),
        config,
    );
    let definition = cubecl::define_kernel(&kernel).map_err(|error| format!("{error:?}"))?;
    compile_definition(definition, SM)
}
