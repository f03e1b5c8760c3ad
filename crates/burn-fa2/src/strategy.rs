//! Which path serves a call: for the forward pass and, by itself, for the gradient.

mod report;

pub(crate) use report::{Choice, report};

#[cfg(feature = "cuda")]
use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device};

use crate::{
    error::{FlashAttentionError, Reason},
    options::{Mask, Strategy},
    validate::{self, Sizes},
};

/// What computes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// A kernel, and those of the gradient: any where none is asked for.
    Kernels(Forward, Backward),
    /// Separate Burn operations.
    Composed,
}

/// A kernel of the forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Forward {
    /// The CubeCL kernel for SM80 and up.
    CubeCl,
    /// The CubeCL kernel for Hopper.
    Hopper,
    /// The CUDA C++ kernel.
    Cute,
}

/// Kernels of the backward pass. The CuTe kernels have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Backward {
    /// The CubeCL kernels for SM80 and up.
    CubeCl,
    /// Those with the main kernel for Hopper.
    Hopper,
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
    /// Which of dQ, dK and dV can be asked for.
    pub(crate) tracked: [bool; 3],
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "a rule of the kernel's")
    )]
    pub(crate) deterministic: bool,
}

impl Request<'_> {
    fn is_tracked(&self) -> bool {
        self.tracked.contains(&true)
    }
}

/// What the kernels of a GPU can do.
pub(crate) trait Kernels {
    /// Applies the rules of `forward`, and loads it where it is compiled already.
    fn serves(&self, forward: Forward, request: &Request<'_>) -> Result<(), Reason>;

    /// Compiles `forward`, which serves, the first time.
    fn compiles(&self, forward: Forward, request: &Request<'_>) -> Result<(), Reason>;

    /// Applies the rules of `backward`, and compiles that for Hopper the first time.
    fn differentiates(&self, backward: Backward, request: &Request<'_>) -> Result<(), Reason>;
}

/// The path for `request`, which must be one that the kernels could serve but for their own limits.
pub(crate) fn choose(
    strategy: Strategy,
    request: &Request<'_>,
) -> Result<Path, FlashAttentionError> {
    let by = |forward| {
        gpu(request)
            .and_then(|gpu| forced(&gpu, forward, request))
            .map_err(|reason| FlashAttentionError::Kernel { strategy, reason })
    };
    match strategy {
        Strategy::Composed => Ok(Path::Composed),
        Strategy::CubeCl => by(Forward::CubeCl),
        Strategy::Hopper => by(Forward::Hopper),
        Strategy::Cute => by(Forward::Cute),
        Strategy::Auto => {
            let path = gpu(request).and_then(|gpu| automatic(&gpu, request));
            Ok(path.unwrap_or_else(|reason| {
                report(request.device, Choice::Composed, Some(reason));
                Path::Composed
            }))
        }
    }
}

/// `forward`, and the fastest kernels for its gradient.
fn forced(gpu: &impl Kernels, forward: Forward, request: &Request<'_>) -> Result<Path, Reason> {
    gpu.serves(forward, request)?;
    let backward = match forward {
        _ if !request.is_tracked() => Backward::CubeCl,
        Forward::CubeCl | Forward::Cute => {
            gpu.differentiates(Backward::CubeCl, request)?;
            Backward::CubeCl
        }
        Forward::Hopper => match fastest_backward(gpu, request)? {
            (_, Some(refusal @ Reason::Compilation(_))) => return Err(refusal),
            (backward, because) => {
                if because.is_some() {
                    report(request.device, Choice::Backward(backward), because);
                }
                backward
            }
        },
    };
    if forward == Forward::Hopper {
        gpu.compiles(forward, request)?;
    }
    Ok(Path::Kernels(forward, backward))
}

/// The fastest kernels, each by itself.
fn automatic(gpu: &impl Kernels, request: &Request<'_>) -> Result<Path, Reason> {
    let (forward, because) = fastest_forward(gpu, request)?;
    let backward = match request.is_tracked() {
        true => Some(fastest_backward(gpu, request)?),
        false => None,
    };
    report(request.device, Choice::Forward(forward), because);
    let backward = backward.map(|(backward, because)| {
        report(request.device, Choice::Backward(backward), because);
        backward
    });
    Ok(Path::Kernels(forward, backward.unwrap_or(Backward::CubeCl)))
}

/// The fastest kernel that serves and compiles, and why none before it does; or why none does at all.
fn fastest_forward(
    gpu: &impl Kernels,
    request: &Request<'_>,
) -> Result<(Forward, Option<Reason>), Reason> {
    let by = |forward| {
        gpu.serves(forward, request)
            .and_then(|()| gpu.compiles(forward, request))
    };
    let Err(not_hopper) = by(Forward::Hopper) else {
        return Ok((Forward::Hopper, None));
    };
    match by(Forward::CubeCl) {
        Ok(()) => Ok((Forward::CubeCl, Some(not_hopper))),
        Err(reason) => match gpu.serves(Forward::Cute, request) {
            Ok(()) => Ok((Forward::Cute, Some(reason))),
            Err(_) => Err(reason),
        },
    }
}

/// The fastest kernels of the gradient, and why not those for Hopper; or why none serve at all.
fn fastest_backward(
    gpu: &impl Kernels,
    request: &Request<'_>,
) -> Result<(Backward, Option<Reason>), Reason> {
    let Err(not_hopper) = gpu.differentiates(Backward::Hopper, request) else {
        return Ok((Backward::Hopper, None));
    };
    gpu.differentiates(Backward::CubeCl, request)?;
    Ok((Backward::CubeCl, Some(not_hopper)))
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
impl Kernels for Gpu {
    fn serves(&self, _: Forward, _: &Request<'_>) -> Result<(), Reason> {
        match *self {}
    }

    fn compiles(&self, _: Forward, _: &Request<'_>) -> Result<(), Reason> {
        match *self {}
    }

    fn differentiates(&self, _: Backward, _: &Request<'_>) -> Result<(), Reason> {
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

#[cfg(test)]
mod tests;
