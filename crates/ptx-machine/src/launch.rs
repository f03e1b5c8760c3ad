//! Launches: a kernel with its grid, arguments and memory.

mod error;
mod setup;
mod window;

pub use error::LaunchError;
pub(crate) use setup::Setup;
pub(crate) use window::Window;

use crate::block::Block;
use crate::measure::Measures;
use crate::memory::{GlobalMemory, Pointer};
use crate::module::{Kernel, Module, Op};
use crate::violation::{Violation, ViolationKind};
use rayon::prelude::*;

/// Instructions of a warp, unless the launch says otherwise.
const DEFAULT_LIMIT: u64 = 1 << 32;

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

    /// Bytes of dynamic shared memory: behind the static symbols, aligned as the unsized symbols ask.
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
    /// Blocks run in parallel. Where the kernel has atomics they run one after another, in the order
    /// of their indices whatever the seed, so that a run of one seed is the same each time: a sum
    /// of floats depends on its order.
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
