//! The backward kernels, compiled, and their runs one after another on one memory.

use crate::element::{KernelElement, problem};
use crate::kernel::{Error, load, read_rows};
use fa2_cubecl::offline::backward::{self as offline, BwdKernel, BwdStrides};
use fa2_cubecl::{BwdConfig, BwdPlan, Gpu, LseGradient, QuerySums, choose_backward};
use fa2_testing::{Case, Qkv, Stored};
use ptx_machine::{GlobalMemory, Launch, Measures, Module, Pointer};

/// What a backward pass reads beside Q, K and V.
#[derive(Clone, Debug)]
pub struct BackwardInputs<E> {
    /// Q, K and V; dQ, dK and dV get their storage.
    pub qkv: Qkv<E>,
    /// Output of the forward pass.
    pub o: Stored<E>,
    /// Its LSE, contiguous.
    pub lse: Vec<f32>,
    /// Gradient of the output.
    pub d_o: Stored<E>,
    /// Gradient of the LSE.
    pub d_lse: Option<Vec<f32>>,
}

/// What a run gave, in contiguous order.
#[derive(Clone, Debug)]
pub struct BackwardRun<E> {
    /// dQ.
    pub d_q: Vec<E>,
    /// dK.
    pub d_k: Vec<E>,
    /// dV.
    pub d_v: Vec<E>,
    /// What the machine counted in each kernel, in the order of their launches.
    pub measures: Vec<(BwdKernel, Measures)>,
}

/// The kernels of a plan, compiled and parsed.
#[derive(Clone, Debug)]
pub struct BackwardKernels {
    plan: BwdPlan,
    kernels: Vec<Compiled>,
}

#[derive(Clone, Debug)]
struct Compiled {
    kernel: BwdKernel,
    module: Module,
    shared_bytes: usize,
}

/// Where the tensors lie.
struct Buffers {
    q: Pointer,
    k: Pointer,
    v: Pointer,
    o: Pointer,
    d_o: Pointer,
    lse: Pointer,
    d_lse: Pointer,
    terms: Pointer,
    sums: Pointer,
    d_q: Pointer,
    d_k: Pointer,
    d_v: Pointer,
}

impl Buffers {
    /// In the order of a kernel's parameters.
    fn of(&self, kernel: BwdKernel) -> Vec<Pointer> {
        match kernel {
            BwdKernel::Preprocess(_) => vec![
                self.o, self.d_o, self.lse, self.d_lse, self.terms, self.sums,
            ],
            BwdKernel::Keys => vec![
                self.q, self.k, self.v, self.d_o, self.terms, self.sums, self.d_k, self.d_v,
            ],
            BwdKernel::Maps | BwdKernel::KeysSm90 => {
                unreachable!("`new` has refused their instructions")
            }
            BwdKernel::Convert => vec![self.sums, self.d_q],
            BwdKernel::Queries => {
                vec![self.q, self.k, self.v, self.d_o, self.terms, self.d_q]
            }
        }
    }
}

impl BackwardKernels {
    /// The kernels that the heuristics choose for `case`, compiled for compute capability `sm`.
    ///
    /// # Errors
    /// Where the case has none, or one does not compile, or the machine can't run it.
    pub fn chosen<E: KernelElement>(
        case: &Case,
        query_sums: QuerySums,
        sm: u32,
    ) -> Result<Self, Error> {
        let gpu = Gpu::of_capability(sm);
        Self::new(choose_backward(&problem::<E>(case), gpu, query_sums)?, sm)
    }

    /// The kernels of `plan`, compiled for compute capability `sm`.
    ///
    /// # Errors
    /// Where one does not compile, or the machine can't run it.
    pub fn new(plan: BwdPlan, sm: u32) -> Result<Self, Error> {
        let mut kernels = BwdKernel::of(&plan, LseGradient::Zero);
        kernels.push(BwdKernel::Preprocess(LseGradient::Given));
        let kernels = kernels.into_iter().map(|kernel| {
            let compiled = offline::compile(kernel, &plan, sm);
            let compiled = compiled.map_err(|message| Error::Compile {
                config: plan.config.to_string(),
                message,
            })?;
            Ok(Compiled {
                kernel,
                module: Module::parse(&compiled.text)?,
                shared_bytes: compiled.shared_bytes,
            })
        });
        Ok(Self {
            plan,
            kernels: kernels.collect::<Result<_, Error>>()?,
        })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> BwdConfig {
        self.plan.config
    }

    /// The module of a kernel, for planting a bug.
    ///
    /// # Panics
    /// If the plan has no such kernel.
    pub fn module_mut(&mut self, kernel: BwdKernel) -> &mut Module {
        let found = self.kernels.iter_mut().find(|one| one.kernel == kernel);
        &mut found.expect("the plan has this kernel").module
    }

    /// Runs the kernels on a case of their kind: each once in order, and under `seeds` random schedules
    /// that must give the same bits.
    ///
    /// What lies between the rows of the operands is not written, so that a read of it is a
    /// violation.
    ///
    /// # Errors
    /// Everything that the machine's checks found, or a gradient that was not written.
    pub fn backward<E: KernelElement>(
        &self,
        case: &Case,
        inputs: &BackwardInputs<E>,
        seeds: u64,
    ) -> Result<BackwardRun<E>, Error> {
        let problem = problem::<E>(case);
        let workspace = offline::workspace(&problem, &self.plan.config);
        let qkv = &inputs.qkv;
        let mut memory = GlobalMemory::new();
        let lse = memory.allocate("LSE", bytemuck::cast_slice(&inputs.lse));
        let buffers = Buffers {
            q: load(&mut memory, "Q", &qkv.q)?,
            k: load(&mut memory, "K", &qkv.k)?,
            v: load(&mut memory, "V", &qkv.v)?,
            o: load(&mut memory, "O", &inputs.o)?,
            d_o: load(&mut memory, "dO", &inputs.d_o)?,
            lse,
            d_lse: match &inputs.d_lse {
                Some(d_lse) => memory.allocate("dLSE", bytemuck::cast_slice(d_lse)),
                None => lse,
            },
            terms: memory.allocate_uninitialized("row terms", workspace.terms),
            sums: memory.allocate_uninitialized("sums of dQ", workspace.sums),
            d_q: memory.allocate_uninitialized("dQ", size_of_val(&qkv.q.data[..])),
            d_k: memory.allocate_uninitialized("dK", size_of_val(&qkv.k.data[..])),
            d_v: memory.allocate_uninitialized("dV", size_of_val(&qkv.v.data[..])),
        };
        let lse_gradient = match inputs.d_lse {
            Some(_) => LseGradient::Given,
            None => LseGradient::Zero,
        };
        let mut measures = Vec::new();
        for kernel in BwdKernel::of(&self.plan, lse_gradient) {
            let strides = strides(inputs);
            let arguments = offline::arguments(kernel, &problem, &self.plan, strides)?;
            if arguments.cubes == 0 {
                continue;
            }
            let found = self.kernels.iter().find(|one| one.kernel == kernel);
            let compiled = found.expect("`new` has compiled the kernels of the plan");
            let launch = Launch::new(&compiled.module, &compiled.module.kernels[0].name)?;
            let launch = buffers.of(kernel).into_iter().fold(launch, Launch::pointer);
            let counted = launch
                .grid([arguments.cubes, 1, 1])
                .block([kernel.threads(&self.plan), 1, 1])
                .dynamic_shared(compiled.shared_bytes)
                .argument(&arguments.shape)
                .run_seeds(&memory, seeds)?;
            measures.push((kernel, counted));
        }
        Ok(BackwardRun {
            d_q: read_rows(&memory, "dQ", buffers.d_q, &qkv.q)?,
            d_k: read_rows(&memory, "dK", buffers.d_k, &qkv.k)?,
            d_v: read_rows(&memory, "dV", buffers.d_v, &qkv.v)?,
            measures,
        })
    }
}

fn strides<E>(inputs: &BackwardInputs<E>) -> BwdStrides {
    let Qkv { q, k, v } = &inputs.qkv;
    [q, k, v, &inputs.o, &inputs.d_o, q, k, v].map(|stored| {
        let [batch, head, row, _] = stored.strides;
        [batch, head, row]
    })
}
