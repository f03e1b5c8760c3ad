//! Device memory of the benchmark: two sets of inputs that every shape reads in turn.

use cubecl::client::Client;
use cubecl::server::Handle;
use fa2_cubecl::{FwdTensors, Problem, TensorRef};
use fa2_machine::KernelElement;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Sets of inputs: together past the L2 of any GPU, so that no launch finds its inputs there.
pub const SETS: usize = 2;
/// Elements that one random stream fills.
const CHUNK: usize = 1 << 16;

/// Q, K and V of each set, an output, and the values of the first set on the host.
pub struct Pool<E> {
    inputs: Vec<[Handle; 3]>,
    /// Host copies of the first set.
    pub host: [Vec<E>; 3],
    output: Handle,
    lse: Handle,
}

impl<E: KernelElement> Pool<E> {
    /// Standard normal values, `elements` a tensor.
    #[must_use]
    pub fn new(client: &Client, elements: usize, rows: usize) -> Self {
        let set = |index: usize| [0, 1, 2].map(|t| normal::<E>(elements, (3 * index + t) as u64));
        let host = set(0);
        let upload = |values: &[Vec<E>; 3]| {
            [0, 1, 2].map(|t| client.create_from_slice(bytemuck::cast_slice(&values[t])))
        };
        let mut inputs = vec![upload(&host)];
        inputs.extend((1..SETS).map(|index| upload(&set(index))));
        Self {
            inputs,
            host,
            output: client.empty(elements * size_of::<E>()),
            lse: client.empty(rows * size_of::<f32>()),
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
        let [q, k, v] = &self.inputs[set % SETS];
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
