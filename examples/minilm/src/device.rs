//! Which device to run on, found without assuming an NVIDIA driver.

use anyhow::{Result, bail};
use burn::tensor::{Device, FloatDType};

use crate::args::DeviceArg;

/// A device to run on, and what is worth knowing about it.
pub(crate) struct Target {
    pub(crate) device: Device,
    /// For the reader: the backend, and the GPU's own name.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// The kinds of device that this example knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Burn's Flex backend.
    Cpu,
    /// Burn's CUDA backend.
    Cuda,
}

impl Kind {
    /// What to run in where nothing is asked for: what the device is good at.
    pub(crate) fn dtypes(self) -> &'static [FloatDType] {
        match self {
            Self::Cpu => &[FloatDType::F32],
            Self::Cuda => &[FloatDType::F16, FloatDType::BF16],
        }
    }
}

/// The device that `choice` names.
pub(crate) fn choose(choice: DeviceArg) -> Result<Target> {
    match choice {
        DeviceArg::Cpu => Ok(cpu()),
        DeviceArg::Auto => Ok(cuda().unwrap_or_else(cpu)),
        DeviceArg::Cuda => match cuda() {
            Some(target) => Ok(target),
            None if cfg!(feature = "cuda") => bail!(
                "no NVIDIA GPU was found: check that `nvidia-smi` lists one, \
                 or run with --device cpu"
            ),
            None => bail!(
                "this build has no CUDA: build with --features cuda, or run with --device cpu"
            ),
        },
    }
}

fn cpu() -> Target {
    Target {
        device: Device::flex(),
        name: "CPU (Burn's Flex backend)".to_string(),
        kind: Kind::Cpu,
    }
}

/// The first CUDA device, if there is one.
///
/// Opening a CUDA device where the driver is missing panics deep inside CubeCL's driver bindings.
/// `enumerate` does not: it first asks whether libcuda can be loaded at all, and takes a driver
/// that fails to start as zero devices. So it is the probe, and nothing needs to be caught or
/// loaded by hand.
#[cfg(feature = "cuda")]
fn cuda() -> Option<Target> {
    use burn::tensor::DeviceType;

    let device = Device::enumerate(DeviceType::Cuda)
        .into_vec()
        .into_iter()
        .next()?;
    let gpu = device
        .identity()
        .map_or("an unnamed GPU".to_string(), |identity| identity.name);
    Some(Target {
        device,
        name: format!("{gpu} (Burn's CUDA backend)"),
        kind: Kind::Cuda,
    })
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Option<Target> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_always_finds_a_device() {
        let target = choose(DeviceArg::Auto).expect("there is always a CPU");
        assert!(!target.kind.dtypes().is_empty());
    }

    #[test]
    fn cuda_is_found_or_refused_with_a_way_out() {
        match choose(DeviceArg::Cuda) {
            Ok(target) => assert_eq!(target.kind, Kind::Cuda),
            Err(error) => assert!(error.to_string().contains("--device cpu"), "{error}"),
        }
    }
}
