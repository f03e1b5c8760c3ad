//! A compiled kernel, and its runs.

use crate::element::{KernelElement, problem};
use fa2_cubecl::{ConfigError, Fa2Error, FwdConfig, FwdPlan, Gpu, choose, offline};
use fa2_testing::{Case, Qkv, Stored};
use ptx_machine::{
    GlobalMemory, Launch, LaunchError, Measures, MemoryError, Module, ParseError, Pointer,
};
use thiserror::Error;

/// Why a kernel did not run, or what it did wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// No configuration serves the case.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The kernel does not take the case.
    #[error(transparent)]
    Problem(#[from] Fa2Error),
    /// CubeCL did not compile it.
    #[error("compiling {config}: {message}")]
    Compile {
        /// The configuration.
        config: String,
        /// What CubeCL says.
        message: String,
    },
    /// It has instructions that the machine does not.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It did something that it must not.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It left something unwritten.
    #[error("reading {tensor}: {error}")]
    Output {
        /// O or LSE.
        tensor: &'static str,
        /// What is missing.
        error: MemoryError,
    },
    /// It wrote between the rows of O.
    #[error("{bytes} bytes between the rows of O were written")]
    Padding {
        /// How many.
        bytes: usize,
    },
}

/// A kernel, compiled and parsed.
#[derive(Clone, Debug)]
pub struct Kernel {
    module: Module,
    plan: FwdPlan,
    shared_bytes: usize,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Run<E> {
    /// O, in contiguous order.
    pub output: Vec<E>,
    /// LSE, in contiguous order.
    pub lse: Vec<f32>,
    /// What the machine counted.
    pub measures: Measures,
}

impl Kernel {
    /// The kernel that the heuristics choose for `case`, compiled for compute capability `sm`.
    ///
    /// # Errors
    /// Where the case has none, or it does not compile, or the machine can't run it.
    pub fn chosen<E: KernelElement>(case: &Case, sm: u32) -> Result<Self, Error> {
        let plan = choose(&problem::<E>(case), Gpu::of_capability(sm))?;
        Self::new(plan, sm)
    }

    /// The kernel of `plan`, compiled for compute capability `sm`.
    ///
    /// # Errors
    /// Where it does not compile, or the machine can't run it.
    pub fn new(plan: FwdPlan, sm: u32) -> Result<Self, Error> {
        let compiled = offline::compile(plan.config, sm).map_err(|message| Error::Compile {
            config: plan.config.to_string(),
            message,
        })?;
        Ok(Self {
            module: Module::parse(&compiled.text)?,
            plan,
            shared_bytes: compiled.shared_bytes,
        })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> FwdConfig {
        self.plan.config
    }

    /// The parsed PTX.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The module, for planting a bug.
    pub fn module_mut(&mut self) -> &mut Module {
        &mut self.module
    }

    /// Runs the kernel on a case of its kind: once in order, and under `seeds` random schedules that
    /// must give the same bits.
    ///
    /// What lies between the rows of the operands is not written, so that a read of it is a
    /// violation.
    ///
    /// # Errors
    /// Everything that the machine's checks found, or an output that was not written.
    pub fn forward<E: KernelElement>(
        &self,
        case: &Case,
        qkv: &Qkv<E>,
        seeds: u64,
    ) -> Result<Run<E>, Error> {
        let problem = problem::<E>(case);
        let mut memory = GlobalMemory::new();
        let [q, k, v] = [("Q", &qkv.q), ("K", &qkv.k), ("V", &qkv.v)]
            .map(|(name, stored)| load(&mut memory, name, stored));
        let bytes = qkv.q.data.len() * size_of::<E>();
        let o = memory.allocate_uninitialized("O", bytes);
        let rows = case.batch * case.heads_q * case.seq_q;
        let lse = memory.allocate_uninitialized("LSE", rows * size_of::<f32>());
        let strides = [&qkv.q, &qkv.k, &qkv.v, &qkv.q].map(|stored| {
            let [batch, head, row, _] = stored.strides;
            [batch, head, row]
        });
        let arguments = offline::arguments(&problem, &self.plan, strides)?;
        let launch = [q, k, v, o, lse].into_iter().fold(
            Launch::new(&self.module, &self.module.kernels[0].name)?,
            Launch::pointer,
        );
        let measures = launch
            .grid([arguments.cubes, 1, 1])
            .block([self.plan.config.threads(), 1, 1])
            .dynamic_shared(self.shared_bytes)
            .argument(&arguments.shape)
            .run_seeds(&memory, seeds)?;
        Ok(Run {
            output: read_rows(&memory, o, &qkv.q)?,
            lse: read(&memory, "LSE", lse, rows)?,
            measures,
        })
    }
}

/// `stored` in the machine's memory, its rows written and nothing else.
fn load<E: KernelElement>(memory: &mut GlobalMemory, name: &str, stored: &Stored<E>) -> Pointer {
    let bytes: &[u8] = bytemuck::cast_slice(&stored.data);
    let pointer = memory.allocate_uninitialized(name, bytes.len());
    for (start, length) in row_bytes(stored) {
        // The rows lie in the allocation that was made for them.
        let written = memory.write(
            Pointer(pointer.0 + start as u64),
            &bytes[start..start + length],
        );
        debug_assert_eq!(written, Ok(()));
    }
    pointer
}

/// Where each row starts, and its length, in bytes.
fn row_bytes<E>(stored: &Stored<E>) -> impl Iterator<Item = (usize, usize)> {
    let [batch, heads, rows, columns] = stored.shape;
    let strides = stored.strides;
    (0..batch * heads * rows).map(move |row| {
        let at = row / (heads * rows) * strides[0]
            + row / rows % heads * strides[1]
            + row % rows * strides[2];
        (at * size_of::<E>(), columns * size_of::<E>())
    })
}

/// The rows of O, which has the storage of Q; nothing between them may be written.
fn read_rows<E: KernelElement>(
    memory: &GlobalMemory,
    o: Pointer,
    like: &Stored<E>,
) -> Result<Vec<E>, Error> {
    let tensor = "O";
    let mut output = Vec::new();
    let mut inside = 0;
    for (start, length) in row_bytes(like) {
        let row = Pointer(o.0 + start as u64);
        output.extend(read::<E>(memory, tensor, row, length / size_of::<E>())?);
        inside += length;
    }
    let written = memory
        .written(o, like.data.len() * size_of::<E>())
        .map_err(|error| Error::Output { tensor, error })?;
    if written > inside {
        let bytes = written - inside;
        return Err(Error::Padding { bytes });
    }
    Ok(output)
}

fn read<T: bytemuck::Pod>(
    memory: &GlobalMemory,
    tensor: &'static str,
    pointer: Pointer,
    length: usize,
) -> Result<Vec<T>, Error> {
    let bytes = memory
        .read(pointer, length * size_of::<T>())
        .map_err(|error| Error::Output { tensor, error })?;
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}
