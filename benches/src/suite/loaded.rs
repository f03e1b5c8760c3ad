//! One forward pass of a case on the device: upload, poison, launch, read.

use crate::engine::Engine;
use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::{FwdTensors, Problem, TensorRef};
use fa2_machine::{KernelElement, problem};
use fa2_testing::poison::poisoned;
use fa2_testing::{Case, Qkv, Stored};

/// A case's inputs in device memory.
pub struct Loaded<E> {
    /// The kernels' problem.
    pub problem: Problem,
    inputs: [TensorRef; 3],
    output: Stored<E>,
    lse: Vec<f32>,
}

/// What a launch left behind.
pub struct Output<E> {
    /// O in contiguous order.
    pub output: Vec<E>,
    /// LSE.
    pub lse: Vec<f32>,
    /// Whether anything outside O was written.
    pub padding_intact: bool,
}

impl<E: KernelElement> Loaded<E> {
    /// Uploads `qkv`.
    #[must_use]
    pub fn new(client: &Client, case: &Case, qkv: &Qkv<E>) -> Self {
        Self {
            problem: problem::<E>(case),
            inputs: [&qkv.q, &qkv.k, &qkv.v].map(|stored| upload(client, stored)),
            output: Stored {
                data: poisoned(qkv.q.data.len()),
                shape: qkv.q.shape,
                strides: qkv.q.strides,
            },
            lse: poisoned(case.batch * case.heads_q * case.seq_q),
        }
    }

    /// The inputs with outputs of their own, poisoned; O has Q's storage.
    #[must_use]
    pub fn tensors(&self, client: &Client) -> FwdTensors {
        let [q, k, v] = self.inputs.clone();
        FwdTensors {
            q,
            k,
            v,
            o: upload(client, &self.output),
            lse: client.create_from_slice(bytemuck::cast_slice(&self.lse)),
        }
    }

    /// Runs `engine` on poisoned outputs and reads them.
    ///
    /// # Errors
    /// Those of [`Engine::launch`], and the device's.
    pub fn run(&self, client: &Client, engine: Engine) -> Result<Output<E>, String> {
        let tensors = self.tensors(client);
        engine.launch(client, &self.problem, &tensors)?;
        self.read(client, &tensors)
    }

    /// Reads the outputs among `tensors`.
    ///
    /// # Errors
    /// The device's error.
    pub fn read(&self, client: &Client, tensors: &FwdTensors) -> Result<Output<E>, String> {
        let read = |handle: &Handle| {
            client
                .read_one(handle.clone())
                .map_err(|error| format!("{error:?}"))
        };
        let data: Vec<E> = bytemuck::pod_collect_to_vec(&read(&tensors.o.handle)?[..]);
        let lse: Vec<f32> = bytemuck::pod_collect_to_vec(&read(&tensors.lse)?[..]);
        let stored = Stored {
            data,
            shape: self.output.shape,
            strides: self.output.strides,
        };
        let written = stored
            .data
            .iter()
            .filter(|value| !value.is_poison())
            .count();
        let output = stored.logical();
        // A result that happens to be poison would be counted as unwritten, never the reverse.
        let padding_intact = written <= output.len();
        Ok(Output {
            output,
            lse,
            padding_intact,
        })
    }
}

fn upload<E: KernelElement>(client: &Client, stored: &Stored<E>) -> TensorRef {
    let [batch, head, row, _] = stored.strides;
    TensorRef {
        handle: client.create_from_slice(bytemuck::cast_slice(&stored.data)),
        strides: [batch, head, row],
    }
}
