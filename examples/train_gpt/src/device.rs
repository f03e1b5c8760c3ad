//! Which device to run on, found without assuming an NVIDIA driver.

use anyhow::{Result, bail};
use burn::tensor::Device;
use clap::ValueEnum;

/// `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceArg {
    /// The first NVIDIA GPU, or the CPU where there is none
    Auto,
    /// Burn's CPU backend, Flex
    Cpu,
    /// The first NVIDIA GPU
    Cuda,
}

/// A device to run on, without gradients, and what is worth knowing about it.
pub(crate) struct Target {
    pub(crate) device: Device,
    /// The GPU's own name, or that of the CPU's backend.
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
    /// The choice that leads to this kind again, for a child process.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
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
/// `enumerate` is the probe: without a driver it finds no device, where opening one would panic.
#[cfg(feature = "cuda")]
fn cuda() -> Option<Target> {
    use burn::tensor::DeviceType;

    let device = Device::enumerate(DeviceType::Cuda)
        .into_vec()
        .into_iter()
        .next()?;
    let name = device
        .identity()
        .map_or("an unnamed GPU".to_string(), |identity| identity.name);
    Some(Target {
        device,
        name,
        kind: Kind::Cuda,
    })
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Option<Target> {
    None
}

/// Bytes that the device's allocator holds. It keeps what was freed, so this is the peak so far.
/// `None` where the backend doesn't count, as on the CPU.
pub(crate) fn peak_bytes(device: &Device) -> Option<u64> {
    let usage = device.memory_pool_usage()?;
    Some(usage.bytes_reserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuda_is_found_or_refused_with_a_way_out() {
        match choose(DeviceArg::Cuda) {
            Ok(target) => assert_eq!(target.kind, Kind::Cuda),
            Err(error) => assert!(error.to_string().contains("--device cpu"), "{error}"),
        }
    }

    #[test]
    fn a_kind_is_chosen_again_by_its_argument() {
        let argument = DeviceArg::from_str(Kind::Cpu.argument(), false).unwrap();
        assert_eq!(choose(argument).unwrap().kind, Kind::Cpu);
    }
}
