//! Which path serves a call, and the log of that choice.

use std::{
    collections::HashSet,
    mem::{Discriminant, discriminant},
    sync::{Mutex, PoisonError},
};

#[cfg(feature = "cuda")]
use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device};

use crate::{
    error::{FlashAttentionError, Reason},
    options::{Mask, Strategy},
    validate::{self, Sizes},
};

/// An implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// The CubeCL kernel.
    Kernel,
    /// Separate Burn operations.
    Composed,
}

/// What the choice depends on.
pub(crate) struct Request<'a> {
    pub(crate) device: &'a Device,
    pub(crate) dtype: DType,
    pub(crate) sizes: &'a Sizes,
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "a rule of the kernel's")
    )]
    pub(crate) mask: Mask,
    pub(crate) scale: f64,
}

/// The path for `request`, which must be one that the kernel could serve but for its own limits.
pub(crate) fn choose(
    strategy: Strategy,
    request: &Request<'_>,
) -> Result<Path, FlashAttentionError> {
    match strategy {
        Strategy::Composed => Ok(Path::Composed),
        Strategy::CubeCl => {
            kernel_serves(request)?;
            Ok(Path::Kernel)
        }
        Strategy::Auto => {
            let served = kernel_serves(request);
            let path = if served.is_ok() {
                Path::Kernel
            } else {
                Path::Composed
            };
            report(request.device, served.err());
            Ok(path)
        }
    }
}

/// Logs what `Strategy::Auto` chose, once per reason: the kernel if there is none against it.
pub(crate) fn report(device: &Device, against: Option<Reason>) {
    static SAID: Mutex<Option<HashSet<Option<Discriminant<Reason>>>>> = Mutex::new(None);
    // Another thread's panic can't leave a set half-inserted.
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said
        .get_or_insert_default()
        .insert(against.as_ref().map(discriminant))
    {
        match against {
            None => log::info!(
                "attention on {} runs on the CubeCL kernel",
                validate::name(device)
            ),
            Some(reason) => log::info!("attention is composed of separate operations: {reason}"),
        }
    }
}

/// What is against the kernel, if anything.
fn kernel_serves(request: &Request<'_>) -> Result<(), Reason> {
    let Request {
        device,
        dtype,
        sizes,
        scale,
        ..
    } = *request;
    let cube = cuda_device(device)?;
    if !matches!(dtype, DType::F16 | DType::BF16) {
        return Err(Reason::DType(dtype));
    }
    if sizes.head_dim > MAX_HEAD_DIM {
        return Err(Reason::HeadDim(sizes.head_dim));
    }
    if sizes.value_dim != sizes.head_dim {
        return Err(Reason::ValueDim {
            value: sizes.value_dim,
            query: sizes.head_dim,
        });
    }
    let scale_f32 = scale as f32;
    if !(scale_f32.is_finite() && scale_f32 > 0.0) {
        return Err(Reason::Scale(scale));
    }
    cube.serves(request)
}

/// Columns of the largest compiled kernel.
const MAX_HEAD_DIM: usize = 256;

#[cfg(feature = "cuda")]
fn cuda_device(device: &Device) -> Result<crate::kernel::CudaDevice, Reason> {
    match device.clone().without_autodiff().as_dispatch() {
        DispatchDevice::Cube(cube @ cubecl::Device::Cuda(_)) => {
            crate::kernel::CudaDevice::new(cube)
        }
        _ => Err(Reason::Device {
            device: validate::name(device),
        }),
    }
}

/// No value of this type exists: without the feature `cuda` there is no kernel.
#[cfg(not(feature = "cuda"))]
enum NoKernel {}

#[cfg(not(feature = "cuda"))]
impl NoKernel {
    fn serves(self, _: &Request<'_>) -> Result<(), Reason> {
        match self {}
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda_device(device: &Device) -> Result<NoKernel, Reason> {
    Err(Reason::NotCompiled {
        device: validate::name(device),
    })
}
