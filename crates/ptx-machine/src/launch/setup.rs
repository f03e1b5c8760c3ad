//! A launch made ready: what every block of it needs to know.

use super::{Launch, LaunchError, Window};
use crate::alu::LANES;
use crate::execute::MOST_BYTES;
use crate::flow::meeting_points;
use crate::module::{Kernel, Op, Space};

/// Everything that a block needs to know.
pub(crate) struct Setup<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of the kernel's narrowest access of shared memory: a power of two.
    pub(crate) shared_unit: usize,
    /// Where its shared memory lies.
    pub(crate) shared_window: Window,
    /// The parameter space.
    pub(crate) parameters: Vec<u8>,
    pub(crate) meetings: Vec<usize>,
    pub(crate) seed: u64,
    pub(crate) limit: u64,
}

impl Setup<'_> {
    pub(crate) fn threads(&self) -> usize {
        self.block.iter().product::<u32>() as usize
    }
}

impl<'a> Launch<'a> {
    /// Checks the launch.
    pub(super) fn setup(&self) -> Result<Setup<'a>, LaunchError> {
        let kernel = self.kernel;
        self.check_block()?;
        let expected = kernel.parameters.len();
        if self.arguments.len() != expected {
            let found = self.arguments.len();
            return Err(LaunchError::Arguments { expected, found });
        }
        let end = kernel.parameters.last().map_or(0, |p| p.offset + p.bytes);
        let mut parameters = vec![0; end as usize];
        let pairs = kernel.parameters.iter().zip(&self.arguments);
        for (index, (parameter, argument)) in pairs.enumerate() {
            let (expected, found) = (parameter.bytes as usize, argument.len());
            if expected != found {
                return Err(LaunchError::ArgumentSize {
                    index,
                    expected,
                    found,
                });
            }
            let start = parameter.offset as usize;
            parameters[start..start + found].copy_from_slice(argument);
        }
        Ok(Setup {
            kernel,
            grid: self.grid,
            block: self.block,
            shared_unit: shared_unit(kernel),
            shared_window: Window::new(&kernel.shared, self.dynamic_shared),
            parameters,
            meetings: meeting_points(kernel),
            seed: self.seed,
            limit: self.limit,
        })
    }

    fn check_block(&self) -> Result<(), LaunchError> {
        let found = self.block;
        let threads: u64 = found.iter().map(|&size| u64::from(size)).product();
        let most = 32 * LANES as u64;
        let expected = match self.kernel.required_threads {
            Some(required) if required != found => format!("{required:?}"),
            _ if !(1..=most).contains(&threads) => format!("1 to {most}"),
            _ => return Ok(()),
        };
        Err(LaunchError::BlockSize { expected, found })
    }
}

/// Bytes of the narrowest access of shared memory.
fn shared_unit(kernel: &Kernel) -> usize {
    let accesses = kernel.code.iter().filter_map(|instruction| {
        let (space, bytes) = match &instruction.op {
            Op::Load {
                space,
                ty,
                destinations,
                ..
            } => (*space, ty.bits() as usize / 8 * destinations.len()),
            Op::Store {
                space, ty, sources, ..
            } => (*space, ty.bits() as usize / 8 * sources.len()),
            Op::Atomic {
                space, ty, sources, ..
            } => (*space, ty.bits() as usize / 8 * sources.len()),
            Op::AsyncCopy { bytes, .. } => (Space::Shared, *bytes as usize),
            _ => return None,
        };
        matches!(space, Space::Shared | Space::Generic).then_some(bytes)
    });
    accesses.min().unwrap_or(MOST_BYTES).min(MOST_BYTES)
}
