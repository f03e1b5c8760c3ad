//! Which tile of the SM90 kernels serves a problem, and whether they serve it: a pure table, with its
//! reasons.

use crate::config::sm90::{FwdSm90Config, FwdSm90Tile};
use crate::error::{ConfigError, Sm90Refusal};
use crate::heuristics::{Gpu, section};
use crate::mask::MaskKind;
use crate::problem::{Dtype, Problem};
use crate::tensor::map::STRIDE_LIMIT;
use serde::{Deserialize, Serialize};

/// The compute capability whose instructions the kernels are made of; newer ones have others.
const SM: u32 = 90;

/// How a forward pass runs on SM90: the kernel, and the order of its cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FwdSm90Plan {
    /// The kernel.
    pub config: FwdSm90Config,
    /// Heads of a section of the schedule (see the scheduler), at least 1.
    pub section: u32,
}

/// The plan for `problem`.
///
/// # Errors
/// None that a valid problem can cause; a rule broken by the table itself would surface here.
pub fn choose_sm90(problem: &Problem) -> Result<FwdSm90Plan, ConfigError> {
    let mask = MaskKind::from(problem.mask);
    let columns = problem.head_dim as u32;
    Ok(FwdSm90Plan {
        config: FwdSm90Config::new(problem.dtype, columns, mask, tile(columns, mask))?,
        section: section(problem),
    })
}

/// Why `plan` does not serve `problem` on `gpu`, if so. `strides` of Q, K and V in elements, between batch
/// entries, heads and rows.
///
/// Everything else that the SM80 kernel serves, it serves too: rows and columns that don't fill a tile
/// are zeros of the tensor map, and its strides are multiples of 16 bytes as theirs.
#[must_use]
pub fn refusal_of_sm90(
    plan: &FwdSm90Plan,
    problem: &Problem,
    strides: [[usize; 3]; 3],
    gpu: Gpu,
) -> Option<Sm90Refusal> {
    let Problem {
        batch,
        heads_q,
        heads_kv,
        seq_q,
        seq_k,
        ..
    } = *problem;
    let [q, k, v] = strides;
    let tensors = [
        ("q", [batch, heads_q, seq_q], q),
        ("k", [batch, heads_kv, seq_k], k),
        ("v", [batch, heads_kv, seq_k], v),
    ];
    refusal_of(plan.config.shared_bytes(), &tensors, gpu)
}

/// Why kernels of `shared_bytes` that read `tensors` by maps don't run on `gpu`, if so: names, sizes and
/// strides in elements, the last two of batch entries, heads and rows.
pub(crate) fn refusal_of(
    shared_bytes: u32,
    tensors: &[(&'static str, [usize; 3], [usize; 3])],
    gpu: Gpu,
) -> Option<Sm90Refusal> {
    if gpu.sm != SM {
        return Some(Sm90Refusal::Capability(gpu.sm));
    }
    if shared_bytes > gpu.shared_bytes {
        return Some(Sm90Refusal::SharedMemory {
            bytes: shared_bytes,
            limit: gpu.shared_bytes,
        });
    }
    tensors
        .iter()
        .flat_map(|&(tensor, sizes, strides)| {
            let stepped = sizes.into_iter().zip(strides).filter(|(size, _)| *size > 1);
            stepped.map(move |(_, stride)| (tensor, stride as u64 * u64::from(Dtype::BYTES)))
        })
        .find(|(_, bytes)| *bytes >= STRIDE_LIMIT)
        .map(|(tensor, bytes)| Sm90Refusal::Stride { tensor, bytes })
}

/// The tile for a head size.
///
/// Registers bound it: a lane holds `block_n / 2` scores, half as many registers of P and `D / 2` sums of
/// O, of 240 with two warpgroups and 160 with three. Up to D = 64 three warpgroups fit, and share one
/// K and V. Shared memory bounds it for D of 192 and 256.
const fn tile(columns: u32, _mask: MaskKind) -> FwdSm90Tile {
    let (block_m, block_n) = match columns {
        0..=64 => (192, 128),
        65..=128 => (128, 128),
        129..=192 => (128, 96),
        _ => (128, 80),
    };
    FwdSm90Tile {
        block_m,
        block_n,
        stages: 2,
    }
}
