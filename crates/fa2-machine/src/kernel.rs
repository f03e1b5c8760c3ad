//! A compiled kernel, and its runs.

use crate::element::{KernelElement, problem};
use fa2_cubecl::offline::{self, Ptx};
use fa2_cubecl::{ConfigError, Fa2Error, FwdConfig, FwdPlan, Gpu, choose};
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
    /// An operand's rows do not lie in its data.
    #[error("writing an operand: {error}")]
    Operand {
        /// Where they would lie.
        error: MemoryError,
    },
    /// It left something unwritten.
    #[error("reading {tensor}: {error}")]
    Output {
        /// The result.
        tensor: &'static str,
        /// What is missing.
        error: MemoryError,
    },
    /// It wrote between the rows of a result.
    #[error("{bytes} bytes between the rows of {tensor} were written")]
    Padding {
        /// The result.
        tensor: &'static str,
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
        Self::parse(plan, &compiled)
    }

    /// The kernel of `plan` from what it was compiled to.
    ///
    /// # Errors
    /// Where the machine can't run it.
    pub fn parse(plan: FwdPlan, compiled: &Ptx) -> Result<Self, Error> {
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
        let q = load(&mut memory, "Q", &qkv.q)?;
        let k = load(&mut memory, "K", &qkv.k)?;
        let v = load(&mut memory, "V", &qkv.v)?;
        let o = memory.allocate_uninitialized("O", size_of_val(&qkv.q.data[..]));
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
            output: read_rows(&memory, "O", o, &qkv.q)?,
            lse: read(&memory, "LSE", lse, rows)?,
            measures,
        })
    }
}

/// `stored` in the machine's memory, its rows written and nothing else.
pub(crate) fn load<E: KernelElement>(
    memory: &mut GlobalMemory,
    name: &str,
    stored: &Stored<E>,
) -> Result<Pointer, Error> {
    let pointer = memory.allocate_uninitialized(name, size_of_val(&stored.data[..]));
    for row in stored.rows() {
        let at = element::<E>(pointer, row.start);
        let bytes = bytemuck::cast_slice(&stored.data[row]);
        memory
            .write(at, bytes)
            .map_err(|error| Error::Operand { error })?;
    }
    Ok(pointer)
}

/// Address of the `index`-th element.
fn element<E>(pointer: Pointer, index: usize) -> Pointer {
    Pointer(pointer.0 + (index * size_of::<E>()) as u64)
}

/// The rows of a result that has the storage of an operand; nothing between them may be written.
pub(crate) fn read_rows<E: KernelElement>(
    memory: &GlobalMemory,
    tensor: &'static str,
    pointer: Pointer,
    like: &Stored<E>,
) -> Result<Vec<E>, Error> {
    let mut output = Vec::new();
    for row in like.rows() {
        output.extend(read::<E>(
            memory,
            tensor,
            element::<E>(pointer, row.start),
            row.len(),
        )?);
    }
    let written = memory
        .written(pointer, size_of_val(&like.data[..]))
        .map_err(|error| Error::Output { tensor, error })?;
    let inside = size_of_val(&output[..]);
    if written > inside {
        let bytes = written - inside;
        return Err(Error::Padding { tensor, bytes });
    }
    Ok(output)
}

pub(crate) fn read<T: bytemuck::Pod>(
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
