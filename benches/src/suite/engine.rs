//! One forward pass of a case on the device: upload, poison, launch, read.

use cubecl::client::Client;
use fa2_cubecl::{Fa2Error, FwdPlan, FwdTensors, Problem, TensorRef, forward};
use fa2_machine::{KernelElement, problem};
use fa2_testing::poison::poisoned;
use fa2_testing::{Case, Qkv, Stored};

/// A case in device memory, with poisoned outputs.
pub struct Loaded<E> {
    /// The kernel's problem.
    pub problem: Problem,
    tensors: FwdTensors,
    output: Stored<E>,
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
    /// Uploads `qkv`; O gets Q's storage.
    #[must_use]
    pub fn new(client: &Client, case: &Case, qkv: &Qkv<E>) -> Self {
        let output = Stored {
            data: poisoned(qkv.q.data.len()),
            shape: qkv.q.shape,
            strides: qkv.q.strides,
        };
        let rows = case.batch * case.heads_q * case.seq_q;
        let lse = poisoned::<f32>(rows);
        let tensors = FwdTensors {
            q: upload(client, &qkv.q),
            k: upload(client, &qkv.k),
            v: upload(client, &qkv.v),
            o: upload(client, &output),
            lse: client.create_from_slice(bytemuck::cast_slice(&lse)),
        };
        Self {
            problem: problem::<E>(case),
            tensors,
            output,
        }
    }

    /// Launches; the outputs stay on the device.
    ///
    /// # Errors
    /// Those of [`forward`].
    pub fn launch(&self, client: &Client, plan: Option<FwdPlan>) -> Result<FwdPlan, Fa2Error> {
        forward(client, &self.problem, self.tensors.clone(), plan)
    }

    /// Reads the outputs.
    ///
    /// # Errors
    /// The device's error.
    pub fn read(&self, client: &Client) -> Result<Output<E>, String> {
        let read = |handle: &cubecl::server::Handle| {
            client
                .read_one(handle.clone())
                .map_err(|error| format!("{error:?}"))
        };
        let data: Vec<E> = bytemuck::pod_collect_to_vec(&read(&self.tensors.o.handle)?[..]);
        let lse: Vec<f32> = bytemuck::pod_collect_to_vec(&read(&self.tensors.lse)?[..]);
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
