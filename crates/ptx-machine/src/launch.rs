//! Launches: a kernel with its grid, arguments and memory.

use crate::alu::LANES;
use crate::block::Block;
use crate::execute::MOST_BYTES;
use crate::flow::meeting_points;
use crate::measure::Measures;
use crate::memory::{GlobalMemory, Pointer};
use crate::module::{Kernel, Module, Op, Space};
use crate::violation::{Violation, ViolationKind};
use rayon::prelude::*;
use thiserror::Error;

/// Instructions of a warp, unless the launch says otherwise.
const DEFAULT_LIMIT: u64 = 1 << 32;

/// Why a launch did not run, or what it did wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no such kernel.
    #[error("the module has no kernel {name}")]
    NoKernel {
        /// The name.
        name: String,
    },
    /// The kernel has another number of parameters.
    #[error("the kernel takes {expected} arguments, not {found}")]
    Arguments {
        /// How many it has.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// An argument has another size than its parameter.
    #[error("argument {index} has {found} bytes, its parameter {expected}")]
    ArgumentSize {
        /// Which, from 0.
        index: usize,
        /// The parameter's size.
        expected: usize,
        /// The argument's.
        found: usize,
    },
    /// The block has another shape than `.reqntid` says, or no threads, or more than 1024.
    #[error("blocks of {found:?} threads; the kernel takes {expected}")]
    BlockSize {
        /// What it takes.
        expected: String,
        /// What was asked for.
        found: [u32; 3],
    },
    /// The kernel did something that it must not.
    #[error("{} violations, the first: {}", .0.len(), .0[0])]
    Violations(Vec<Violation>),
}

/// A launch.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: usize,
    arguments: Vec<Vec<u8>>,
    seed: u64,
    limit: u64,
}

/// Everything that a block needs to know.
pub(crate) struct Setup<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: usize,
    /// Bytes of the kernel's narrowest access of shared memory: a power of two.
    pub(crate) shared_unit: usize,
    /// Where each shared symbol starts.
    pub(crate) shared_offsets: Vec<u64>,
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
    /// Of the kernel `name`: one block of one thread, without arguments.
    ///
    /// # Errors
    /// [`LaunchError::NoKernel`].
    pub fn new(module: &'a Module, name: &str) -> Result<Self, LaunchError> {
        let kernel = module.kernels.iter().find(|kernel| kernel.name == name);
        let kernel = kernel.ok_or_else(|| LaunchError::NoKernel {
            name: name.to_owned(),
        })?;
        Ok(Self {
            kernel,
            grid: [1; 3],
            block: kernel.required_threads.unwrap_or([1; 3]),
            dynamic_shared: 0,
            arguments: Vec::new(),
            seed: 0,
            limit: DEFAULT_LIMIT,
        })
    }

    /// Blocks along x, y, z.
    #[must_use]
    pub fn grid(mut self, grid: [u32; 3]) -> Self {
        self.grid = grid;
        self
    }

    /// Threads of a block along x, y, z.
    #[must_use]
    pub fn block(mut self, block: [u32; 3]) -> Self {
        self.block = block;
        self
    }

    /// Bytes of dynamic shared memory.
    #[must_use]
    pub fn dynamic_shared(mut self, bytes: usize) -> Self {
        self.dynamic_shared = bytes;
        self
    }

    /// The next argument, as bytes: little-endian, or a structure as it lies in memory.
    #[must_use]
    pub fn argument(mut self, bytes: &[u8]) -> Self {
        self.arguments.push(bytes.to_vec());
        self
    }

    /// The next argument, a pointer.
    #[must_use]
    pub fn pointer(self, pointer: Pointer) -> Self {
        self.argument(&pointer.0.to_le_bytes())
    }

    /// How warps take turns: 0 runs each up to its next barrier, any other number at random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Instructions that a warp may run.
    #[must_use]
    pub fn limit(mut self, instructions: u64) -> Self {
        self.limit = instructions;
        self
    }

    /// Runs every block.
    ///
    /// Blocks run in parallel; where the kernel has atomics, one after another, so that a run is
    /// the same each time.
    ///
    /// # Errors
    /// What is wrong with the launch; or everything that the checks found, in the order of blocks.
    pub fn run(&self, memory: &GlobalMemory) -> Result<Measures, LaunchError> {
        run(&self.setup()?, memory)
    }

    /// Runs the launch under seed 0 and `seeds` others, each from the same memory, whose final bytes
    /// must be the same under all.
    ///
    /// # Errors
    /// As [`run`](Self::run), or a [`ViolationKind::ScheduleDependent`].
    pub fn run_seeds(&self, memory: &GlobalMemory, seeds: u64) -> Result<Measures, LaunchError> {
        let start = memory.snapshot();
        let mut setup = self.setup()?;
        setup.seed = 0;
        let measures = run(&setup, memory)?;
        let expected = memory.snapshot();
        for seed in 1..=seeds {
            memory.restore(&start);
            setup.seed = seed;
            run(&setup, memory)?;
            let found = memory.snapshot();
            if let Some((buffer, offset)) = expected.difference(&found) {
                let buffer = memory.names().nth(buffer).unwrap_or_default().to_owned();
                let kind = ViolationKind::ScheduleDependent {
                    seed,
                    buffer,
                    offset,
                };
                return Err(LaunchError::Violations(vec![self.whole(kind)]));
            }
        }
        Ok(measures)
    }

    /// A violation of the launch as a whole.
    fn whole(&self, kind: ViolationKind) -> Violation {
        let first = self.kernel.code.first();
        Violation {
            kind,
            kernel: self.kernel.name.clone(),
            line: first.map_or(0, |instruction| instruction.line),
            instruction: "the kernel".to_owned(),
            block: [0; 3],
            warp: 0,
            lane: None,
            address: None,
        }
    }

    fn setup(&self) -> Result<Setup<'a>, LaunchError> {
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
        let (shared_offsets, shared_bytes) = self.shared_layout();
        Ok(Setup {
            kernel,
            grid: self.grid,
            block: self.block,
            shared_bytes,
            shared_unit: shared_unit(kernel),
            shared_offsets,
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

    /// Static symbols one after another, then the dynamic memory, which all unsized symbols name.
    fn shared_layout(&self) -> (Vec<u64>, usize) {
        let mut end = 0_u64;
        let mut offsets: Vec<Option<u64>> = Vec::new();
        for symbol in &self.kernel.shared {
            offsets.push(symbol.bytes.map(|bytes| {
                let start = end.next_multiple_of(u64::from(symbol.align));
                end = start + u64::from(bytes);
                start
            }));
        }
        let unsized_symbols = self.kernel.shared.iter().filter(|s| s.bytes.is_none());
        let align = unsized_symbols
            .map(|symbol| symbol.align)
            .max()
            .unwrap_or(1);
        let dynamic = end.next_multiple_of(u64::from(align));
        let offsets = offsets.into_iter().map(|at| at.unwrap_or(dynamic));
        (offsets.collect(), dynamic as usize + self.dynamic_shared)
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
            // The elements of a vector come one by one.
            Op::Atomic { space, ty, .. } => (*space, ty.bits() as usize / 8),
            Op::AsyncCopy { bytes, .. } => (Space::Shared, *bytes as usize),
            _ => return None,
        };
        matches!(space, Space::Shared | Space::Generic).then_some(bytes)
    });
    accesses.min().unwrap_or(MOST_BYTES).min(MOST_BYTES)
}

/// Runs every block of a launch.
fn run(setup: &Setup<'_>, memory: &GlobalMemory) -> Result<Measures, LaunchError> {
    let [x, y, z] = setup.grid;
    let indices: Vec<[u32; 3]> = (0..z)
        .flat_map(|k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
        .collect();
    let run = |index: &[u32; 3]| Block::run(setup, memory, *index);
    let atomics = |op: &Op| matches!(op, Op::Atomic { .. });
    let results: Vec<_> = if setup.kernel.code.iter().any(|i| atomics(&i.op)) {
        indices.iter().map(run).collect()
    } else {
        indices.par_iter().map(run).collect()
    };
    let mut measures = Measures::default();
    let mut violations = Vec::new();
    for (block, found) in results {
        measures.add(block);
        violations.extend(found);
    }
    if violations.is_empty() {
        Ok(measures)
    } else {
        Err(LaunchError::Violations(violations))
    }
}
