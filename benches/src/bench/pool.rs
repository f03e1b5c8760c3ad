//! Device memory of the benchmark: two sets of inputs that every shape reads in turn.

use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::{BwdTensors, FwdTensors, Problem, TensorRef};
use fa2_machine::KernelElement;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Sets of inputs: together past the L2 of any GPU, so that no launch finds its inputs there.
pub const SETS: usize = 2;
/// Elements that one random stream fills.
const CHUNK: usize = 1 << 16;

/// Q, K, V and dO of each set, the outputs, and the values of the first set on the host.
pub struct Pool<E> {
    inputs: Vec<[Handle; 4]>,
    /// Host copies of the first set.
    pub host: [Vec<E>; 4],
    output: Handle,
    lse: Handle,
    gradients: [Handle; 3],
}

impl<E: KernelElement> Pool<E> {
    /// Standard normal values, `elements` a tensor.
    #[must_use]
    pub fn new(client: &Client, elements: usize, rows: usize) -> Self {
        let set =
            |index: usize| [0, 1, 2, 3].map(|t| normal::<E>(elements, (4 * index + t) as u64));
        let host = set(0);
        let upload = |values: &[Vec<E>; 4]| {
            [0, 1, 2, 3].map(|t| client.create_from_slice(bytemuck::cast_slice(&values[t])))
        };
        let mut inputs = vec![upload(&host)];
        inputs.extend((1..SETS).map(|index| upload(&set(index))));
        let output = || client.empty(elements * size_of::<E>());
        Self {
            inputs,
            host,
            output: output(),
            lse: client.empty(rows * size_of::<f32>()),
            gradients: [output(), output(), output()],
        }
    }

    /// The tensors of the backward pass of `problem` over set `set`, contiguous; O and LSE are those
    /// that the last forward pass has left.
    #[must_use]
    pub fn gradients(&self, problem: &Problem, set: usize) -> BwdTensors {
        let FwdTensors { q, k, v, o, lse } = self.tensors(problem, set);
        let [_, _, _, d_o] = &self.inputs[set % SETS];
        let [d_q, d_k, d_v] = &self.gradients;
        let like = |handle: &Handle, tensor: &TensorRef| TensorRef {
            handle: handle.clone(),
            strides: tensor.strides,
        };
        BwdTensors {
            d_o: like(d_o, &q),
            d_q: Some(like(d_q, &q)),
            d_kv: Some([like(d_k, &k), like(d_v, &v)]),
            q,
            k,
            v,
            o,
            lse,
            d_lse: None,
        }
    }

    /// The tensors of `problem` over set `set`, contiguous.
    #[must_use]
    pub fn tensors(&self, problem: &Problem, set: usize) -> FwdTensors {
        let Problem {
            heads_q,
            heads_kv,
            seq_q,
            seq_k,
            head_dim,
            ..
        } = *problem;
        let view = |handle: &Handle, heads: usize, seq: usize| TensorRef {
            handle: handle.clone(),
            strides: [heads * seq * head_dim, seq * head_dim, head_dim],
        };
        let [q, k, v, _] = &self.inputs[set % SETS];
        FwdTensors {
            q: view(q, heads_q, seq_q),
            k: view(k, heads_kv, seq_k),
            v: view(v, heads_kv, seq_k),
            o: view(&self.output, heads_q, seq_q),
            lse: self.lse.clone(),
        }
    }
}

fn normal<E: KernelElement>(elements: usize, seed: u64) -> Vec<E> {
    let mut values = vec![E::from_f32(0.0); elements];
    values
        .par_chunks_mut(CHUNK)
        .enumerate()
        .for_each(|(index, chunk)| {
            let mut rng = StdRng::seed_from_u64(seed << 32 | index as u64);
            for value in chunk {
                let sample: f32 = StandardNormal.sample(&mut rng);
                *value = E::from_f32(sample);
            }
        });
    values
}
