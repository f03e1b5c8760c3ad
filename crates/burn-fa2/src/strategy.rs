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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Path {
    /// The CubeCL kernel for SM80 and up.
    CubeCl,
    /// The CubeCL kernel for Hopper.
    Hopper,
    /// The CUDA C++ kernel.
    Cute,
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

/// The path for `request`, which must be one that the kernels could serve but for their own limits.
pub(crate) fn choose(
    strategy: Strategy,
    request: &Request<'_>,
) -> Result<Path, FlashAttentionError> {
    let forced = |served: Result<(), Reason>, path| {
        served
            .map(|()| path)
            .map_err(|reason| FlashAttentionError::Kernel { strategy, reason })
    };
    match strategy {
        Strategy::Composed => Ok(Path::Composed),
        Strategy::CubeCl => forced(
            gpu(request).and_then(|gpu| gpu.serves(request)),
            Path::CubeCl,
        ),
        Strategy::Hopper => forced(
            gpu(request).and_then(|gpu| gpu.serves_by_hopper(request)),
            Path::Hopper,
        ),
        Strategy::Cute => forced(
            gpu(request).and_then(|gpu| gpu.serves_by_cute(request)),
            Path::Cute,
        ),
        Strategy::Auto => {
            let (path, reason) = automatic(request);
            report(request.device, path, reason);
            Ok(path)
        }
    }
}

/// The fastest kernel that serves and compiles, and why none before it does.
fn automatic(request: &Request<'_>) -> (Path, Option<Reason>) {
    let gpu = match gpu(request) {
        Ok(gpu) => gpu,
        Err(reason) => return (Path::Composed, Some(reason)),
    };
    let Err(not_hopper) = gpu.is_fastest_by_hopper(request) else {
        return (Path::Hopper, None);
    };
    match gpu.serves(request).and_then(|()| gpu.compiles(request)) {
        Ok(()) => (Path::CubeCl, Some(not_hopper)),
        Err(reason) => match gpu.serves_by_cute(request) {
            Ok(()) => (Path::Cute, Some(reason)),
            Err(_) => (Path::Composed, Some(reason)),
        },
    }
}

/// Logs what `Strategy::Auto` chose, once per path and reason.
pub(crate) fn report(device: &Device, path: Path, reason: Option<Reason>) {
    type Said = HashSet<(Path, Option<Discriminant<Reason>>)>;
    static SAID: Mutex<Option<Said>> = Mutex::new(None);
    // Another thread's panic can't leave a set half-inserted.
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (path, reason.as_ref().map(discriminant));
    if !said.get_or_insert_default().insert(key) {
        return;
    }
    let device = validate::name(device);
    let because = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    match path {
        Path::CubeCl => log::info!("attention on {device} runs on the CubeCL kernel{because}"),
        Path::Hopper => log::info!("attention on {device} runs on the CubeCL kernel for Hopper"),
        Path::Cute => log::info!("attention on {device} runs on the CuTe kernel{because}"),
        Path::Composed => {
            log::info!("attention on {device} is composed of separate operations{because}");
        }
    }
}

/// The GPU of `request`, if nothing is against every kernel on it.
fn gpu(request: &Request<'_>) -> Result<Gpu, Reason> {
    let Request {
        device,
        dtype,
        sizes,
        scale,
        ..
    } = *request;
    let gpu = cuda_device(device)?;
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
    Ok(gpu)
}

/// Columns of the largest compiled kernel.
const MAX_HEAD_DIM: usize = 256;

#[cfg(feature = "cuda")]
use crate::kernel::CudaDevice as Gpu;

#[cfg(feature = "cuda")]
fn cuda_device(device: &Device) -> Result<Gpu, Reason> {
    match device.clone().without_autodiff().as_dispatch() {
        DispatchDevice::Cube(cube @ cubecl::Device::Cuda(_)) => Gpu::new(cube),
        _ => Err(Reason::Device {
            device: validate::name(device),
        }),
    }
}

/// No value of this type exists: without the feature `cuda` there is no kernel.
#[cfg(not(feature = "cuda"))]
enum Gpu {}

#[cfg(not(feature = "cuda"))]
impl Gpu {
    fn serves(&self, _: &Request<'_>) -> Result<(), Reason> {
        match *self {}
    }

    fn serves_by_hopper(&self, _: &Request<'_>) -> Result<(), Reason> {
        match *self {}
    }

    fn is_fastest_by_hopper(&self, _: &Request<'_>) -> Result<(), Reason> {
        match *self {}
    }

    fn serves_by_cute(&self, _: &Request<'_>) -> Result<(), Reason> {
        match *self {}
    }

    fn compiles(&self, _: &Request<'_>) -> Result<(), Reason> {
        match *self {}
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda_device(device: &Device) -> Result<Gpu, Reason> {
    Err(Reason::NotCompiled {
        feature: "cuda",
        device: validate::name(device),
    })
}
