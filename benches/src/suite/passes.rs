//! Both passes of a case over contiguous f16 buffers of their own, by any engine.

use crate::engine::EngineArg;
use cubecl::bytes::Bytes;
use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::{BwdTensors, FwdTensors, Problem, QuerySums, TensorRef, backward, backward_sm90};
use fa2_machine::problem;
use fa2_testing::poison::poisoned;
use fa2_testing::{Case, inputs};
use half::f16;

/// Q, K, V and dO of a case in host memory.
pub struct Values {
    case: Case,
    bytes: [Vec<u8>; 4],
}

impl Values {
    /// Those of `seed`.
    #[must_use]
    pub fn new(case: &Case, seed: u64) -> Self {
        let bytes = operands(case, seed).map(|values| bytemuck::cast_slice(&values).to_vec());
        Self { case: *case, bytes }
    }
}

/// Q, K, V and dO in contiguous order.
#[must_use]
pub fn operands(case: &Case, seed: u64) -> [Vec<f16>; 4] {
    let [q, k, v] = inputs::generate::<f16>(case, seed).logical();
    let [d_o, ..] = inputs::generate::<f16>(case, seed + 1).logical();
    [q, k, v, d_o]
}

/// Bytes of O, the LSE, dQ, dK and dV.
pub type Results = [Vec<u8>; 5];

/// Buffers in device memory.
pub struct Passes {
    client: Client,
    problem: Problem,
    forward: FwdTensors,
    backward: BwdTensors,
    outputs: Outputs,
}

/// The buffers that both passes write.
#[derive(Clone)]
pub struct Outputs([Handle; 5]);

impl Passes {
    /// Uploads `values`, and poison for the outputs.
    #[must_use]
    pub fn new(client: &Client, values: &Values) -> Self {
        let case = &values.case;
        let (shape_q, shape_kv) = (case.shape_q(), case.shape_kv());
        let tensor = |bytes: &[u8], [_, heads, rows, columns]: [usize; 4]| TensorRef {
            handle: client.create_from_slice(bytes),
            strides: [heads * rows * columns, rows * columns, columns],
        };
        let poison = |shape: [usize; 4]| {
            let values = poisoned::<f16>(shape.iter().product());
            tensor(bytemuck::cast_slice(&values), shape)
        };
        let rows = case.batch * case.heads_q * case.seq_q;
        let upload = |values: &[f32]| client.create_from_slice(bytemuck::cast_slice(values));
        let [q, k, v, d_o] = &values.bytes;
        let forward = FwdTensors {
            q: tensor(q, shape_q),
            k: tensor(k, shape_kv),
            v: tensor(v, shape_kv),
            o: poison(shape_q),
            lse: upload(&poisoned::<f32>(rows)),
        };
        let gradients = [shape_q, shape_kv, shape_kv].map(poison);
        let [d_q, d_k, d_v] = gradients.clone();
        let backward = BwdTensors {
            q: forward.q.clone(),
            k: forward.k.clone(),
            v: forward.v.clone(),
            o: forward.o.clone(),
            d_o: tensor(d_o, shape_q),
            lse: forward.lse.clone(),
            d_lse: Some(upload(&vec![0.0; rows])),
            d_q: Some(d_q),
            d_kv: Some([d_k, d_v]),
        };
        let [d_q, d_k, d_v] = gradients.map(|gradient| gradient.handle);
        let outputs = [forward.o.handle.clone(), forward.lse.clone(), d_q, d_k, d_v];
        Self {
            client: client.clone(),
            problem: problem::<f16>(case),
            forward,
            backward,
            outputs: Outputs(outputs),
        }
    }

    /// Writes other values into the same buffers.
    pub fn write(&self, values: &Values) {
        let BwdTensors { q, k, v, d_o, .. } = &self.backward;
        for (tensor, bytes) in [q, k, v, d_o].into_iter().zip(&values.bytes) {
            let bytes = Bytes::from_bytes_vec(bytes.clone());
            self.client.write(&tensor.handle, bytes);
        }
    }

    /// Poisons the outputs again.
    pub fn poison(&self) {
        for handle in &self.outputs.0 {
            let poison = poisoned::<f16>(handle.size_in_used() as usize / size_of::<f16>());
            let bytes = bytemuck::cast_slice(&poison).to_vec();
            self.client.write(handle, Bytes::from_bytes_vec(bytes));
        }
    }

    /// Enqueues the forward pass.
    ///
    /// # Errors
    /// The engine's own, as text.
    pub fn forward(&self, engine: EngineArg) -> Result<(), String> {
        let engine = engine.chosen();
        let launched = engine.launch(&self.client, &self.problem, &self.forward);
        launched.map(drop)
    }

    /// Enqueues the backward pass, by the kernels that serve the engine.
    ///
    /// # Errors
    /// Theirs, as text.
    pub fn backward(&self, engine: EngineArg, sums: QuerySums) -> Result<(), String> {
        let (client, problem, tensors) = (&self.client, &self.problem, self.backward.clone());
        let launched = match engine {
            EngineArg::Hopper => backward_sm90(client, problem, tensors, sums),
            EngineArg::Cubecl | EngineArg::Cute => backward(client, problem, tensors, sums, None),
        };
        launched.map(drop).map_err(|error| error.to_string())
    }

    /// Q's buffer.
    #[must_use]
    pub fn q(&self) -> &Handle {
        &self.forward.q.handle
    }

    /// The buffers that were written.
    #[must_use]
    pub fn outputs(&self) -> Outputs {
        self.outputs.clone()
    }
}

impl Outputs {
    /// Waits for both passes and reads what they wrote.
    ///
    /// # Errors
    /// The device's, as text.
    pub fn read(&self, client: &Client) -> Result<Results, String> {
        let mut results = Results::default();
        for (result, handle) in results.iter_mut().zip(&self.0) {
            let bytes = client
                .read_one(handle.clone())
                .map_err(|error| format!("{error:?}"))?;
            *result = bytes.to_vec();
        }
        Ok(results)
    }

    /// The buffers of O, dQ, dK and dV.
    #[must_use]
    pub fn tensors(&self) -> [&Handle; 4] {
        let [o, _, d_q, d_k, d_v] = &self.0;
        [o, d_q, d_k, d_v]
    }
}

/// Whether both are the same, but for dQ where it is summed up in no order.
///
/// # Errors
/// The first tensor that differs.
pub fn compare(found: &Results, expected: &Results, sums: QuerySums) -> Result<(), String> {
    let names = ["O", "LSE", "dQ", "dK", "dV"];
    for ((name, found), expected) in names.iter().zip(found).zip(expected) {
        if (*name != "dQ" || sums.is_deterministic()) && found != expected {
            return Err(format!("{name} has other bits"));
        }
    }
    Ok(())
}
