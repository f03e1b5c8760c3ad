//! Compilation ahead of the first launch, while a caller can still take another path.
//!
//! A launch only queues, and what a compiler refuses shows when an output is read. Here the kernels are
//! launched on one row instead, which is what makes CubeCL compile them, and the outputs are asked after.
//! Once a kernel is compiled the answer takes microseconds.

use crate::config::backward::BwdConfig;
use crate::config::sm90::FwdSm90Config;
use crate::config::{Columns, FwdConfig};
use crate::error::Fa2Error;
use crate::heuristics::FwdPlan;
use crate::heuristics::backward::BwdPlan;
use crate::heuristics::sm90::FwdSm90Plan;
use crate::launch::backward::{BwdTensors, backward};
use crate::launch::sm90::forward_sm90;
use crate::launch::{FwdTensors, TensorRef, forward};
use crate::mask::MaskKind;
use crate::problem::{Alignment, Dtype, Mask, Problem};
use cubecl::client::Client;
use cubecl::server::Handle;

/// Compiles the kernel of [`forward`] on the client's device, and waits for it.
///
/// # Errors
/// [`Fa2Error::Compilation`] with CubeCL's words.
pub fn compile(client: &Client, config: FwdConfig) -> Result<(), Fa2Error> {
    let row = forward_row(&config);
    let tensors = forward_tensors(client, &row);
    let output = tensors.o.handle.clone();
    let plan = FwdPlan { config, section: 1 };
    forward(client, &row, tensors, Some(plan))?;
    written(client, [&output], || config.to_string())
}

/// [`compile`] for the kernels of [`forward_sm90`].
///
/// # Errors
/// As [`forward_sm90`], and [`Fa2Error::Compilation`] with CubeCL's words.
pub fn compile_sm90(client: &Client, config: FwdSm90Config) -> Result<(), Fa2Error> {
    let columns = (config.head_dim(), config.columns());
    let row = row(columns, config.dtype(), config.mask());
    let tensors = forward_tensors(client, &row);
    let output = tensors.o.handle.clone();
    let plan = FwdSm90Plan {
        config,
        section: 1,
        cubes: None,
    };
    forward_sm90(client, &row, tensors, Some(plan))?;
    written(client, [&output], || config.to_string())
}

/// [`compile`] for the kernels of [`backward`] that give all three gradients: those of `config` and, where it
/// leaves dQ to one, the pass of `queries`.
///
/// # Errors
/// As [`backward`], and [`Fa2Error::Compilation`] with CubeCL's words.
pub fn compile_backward(
    client: &Client,
    config: BwdConfig,
    queries: Option<FwdConfig>,
) -> Result<(), Fa2Error> {
    let row = backward_row(&config, queries.as_ref());
    let tensor = || row_tensor(client, &row);
    let rows = || row_values(client);
    let gradients = [tensor(), tensor(), tensor()];
    let [d_q, d_k, d_v] = gradients.clone();
    let tensors = BwdTensors {
        q: tensor(),
        k: tensor(),
        v: tensor(),
        o: tensor(),
        d_o: tensor(),
        lse: rows(),
        d_lse: Some(rows()),
        d_q: Some(d_q),
        d_kv: Some([d_k, d_v]),
    };
    let plan = BwdPlan {
        config,
        section: 1,
        queries: queries.map(|config| FwdPlan { config, section: 1 }),
    };
    backward(client, &row, tensors, config.query_sums(), Some(plan))?;
    let outputs = gradients.each_ref().map(|gradient| &gradient.handle);
    written(client, outputs, || match &queries {
        Some(queries) => format!("{config}, dQ {queries}"),
        None => config.to_string(),
    })
}

fn forward_row(config: &FwdConfig) -> Problem {
    let columns = (config.head_dim(), config.columns());
    row(columns, config.dtype(), config.mask())
}

fn backward_row(config: &BwdConfig, queries: Option<&FwdConfig>) -> Problem {
    match queries {
        // The main kernel may compute more columns than the pass for dQ, whose own serve both.
        Some(queries) => forward_row(queries),
        None => {
            let columns = (config.head_dim(), config.columns());
            row(columns, config.dtype(), config.mask())
        }
    }
}

/// One row of one head, for a kernel that computes so many columns of tensors that have as many or fewer.
fn row((head_dim, columns): (u32, Columns), dtype: Dtype, mask: MaskKind) -> Problem {
    let head_dim = head_dim as usize;
    Problem {
        batch: 1,
        heads_q: 1,
        heads_kv: 1,
        seq_q: 1,
        seq_k: 1,
        head_dim: match columns {
            Columns::Exact => head_dim,
            Columns::Padded => head_dim - 8,
        },
        dtype,
        mask: match mask {
            MaskKind::None => Mask::None,
            MaskKind::Causal => Mask::Causal(Alignment::TopLeft),
        },
        scale: 1.0,
    }
}

fn forward_tensors(client: &Client, row: &Problem) -> FwdTensors {
    let tensor = || row_tensor(client, row);
    FwdTensors {
        q: tensor(),
        k: tensor(),
        v: tensor(),
        o: tensor(),
        lse: row_values(client),
    }
}

/// A row of zeros.
fn row_tensor(client: &Client, row: &Problem) -> TensorRef {
    TensorRef {
        handle: client.create_from_slice(&vec![0; row.head_dim * Dtype::BYTES as usize]),
        strides: [row.head_dim; 3],
    }
}

/// A row's one f32, 0.
fn row_values(client: &Client) -> Handle {
    client.create_from_slice(&[0; size_of::<f32>()])
}

/// Waits for what was launched, and says whether it could be: `outputs` would have been left unwritten.
fn written<const N: usize>(
    client: &Client,
    outputs: [&Handle; N],
    config: impl FnOnce() -> String,
) -> Result<(), Fa2Error> {
    client
        .check(outputs)
        .map_err(|error| Fa2Error::Compilation {
            config: config(),
            device: client.properties().identity.name.clone(),
            reason: error.to_string(),
        })
}

#[cfg(test)]
mod tests;
