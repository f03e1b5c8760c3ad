//! Which tile of the SM90 kernels serves a problem, and whether they serve it: a pure table, with its
//! reasons.

use crate::config::sm90::{FwdSm90Config, FwdSm90Tile, Turns};
use crate::error::{ConfigError, Sm90Refusal};
use crate::heuristics::Gpu;
use crate::mask::MaskKind;
use crate::problem::{Dtype, Mask, Problem};
use crate::tensor::map::STRIDE_LIMIT;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// The compute capability whose instructions the kernels are made of.
const SM: u32 = 90;
/// Multiprocessors of an H100 SXM and an H200.
pub(crate) const MULTIPROCESSORS: u32 = 132;

impl Gpu {
    /// Whether it has the instructions of the kernels for SM90: newer ones have others.
    #[must_use]
    pub const fn is_sm90(self) -> bool {
        self.sm == SM
    }
}

/// How a forward pass runs on SM90: the kernel, and the order of its cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FwdSm90Plan {
    /// The kernel.
    pub config: FwdSm90Config,
    /// Heads of a section of the schedule (see the scheduler), at least 1.
    pub section: u32,
    /// Most cubes that share the works; without it, as many as there are multiprocessors. More would wait for the
    /// first to end.
    pub cubes: Option<NonZeroU32>,
}

/// The plan for `problem`.
///
/// # Errors
/// None that a valid problem can cause; a rule broken by the table itself would surface here.
pub fn choose_sm90(problem: &Problem) -> Result<FwdSm90Plan, ConfigError> {
    let mask = MaskKind::from(problem.mask);
    let columns = problem.head_dim as u32;
    let config =
        FwdSm90Config::new(problem.dtype, columns, mask, tile(problem))?.with_turns(turns(columns));
    let section = match problem.mask {
        // All blocks weigh the same: one head at a time is best for L2.
        Mask::None => 1,
        Mask::Causal(_) => {
            // Whole groups: their heads read the same keys.
            let group = problem.group_size() as u32;
            let blocks = (problem.seq_q as u32).div_ceil(config.block_m());
            let groups = (problem.batch * problem.heads_kv) as u32;
            group * heads_of_waves(waves(columns), group * blocks, groups)
        }
    };
    Ok(FwdSm90Plan {
        config,
        section,
        cubes: None,
    })
}

/// Heads, of `heads`, whose blocks are scheduled together under a causal mask; a head has `blocks`.
///
/// Their heaviest blocks start first. They have no more blocks than `waves` times the multiprocessors: where the light
/// ones end, the heavy ones of the next heads start (docs/design/0004-schedule.md).
pub(crate) fn heads_of_waves(waves: u32, blocks: u32, heads: u32) -> u32 {
    (waves * MULTIPROCESSORS / blocks.max(1)).clamp(1, heads.max(1))
}

/// Waves of a section in the forward, for `columns`. Measured (docs/perf/hopper.md): one gives up to 11% more at 128 and
/// 256 columns, and up to 3% less at 64.
const fn waves(columns: u32) -> u32 {
    if columns <= 64 { 2 } else { 1 }
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
    if !gpu.is_sm90() {
        return Some(Sm90Refusal::Capability(gpu.sm));
    }
    if shared_bytes > gpu.shared_bytes {
        return Some(Sm90Refusal::SharedMemory {
            bytes: shared_bytes,
            limit: gpu.shared_bytes,
        });
    }
    tensors.iter().find_map(|&(tensor, sizes, strides)| {
        let bytes = unmappable_stride(sizes, strides)?;
        Some(Sm90Refusal::Stride { tensor, bytes })
    })
}

/// The first stride in bytes that a tensor map can't hold, if any. `sizes` and `strides`, these in elements, of
/// batch entries, heads and rows.
///
/// NVIDIA documents strides from 16 bytes up, so a tensor that repeats its rows is none for a map.
#[must_use]
pub fn unmappable_stride(sizes: [usize; 3], strides: [usize; 3]) -> Option<u64> {
    if sizes.contains(&0) {
        return None; // Nothing is read.
    }
    // A dimension of size 1 is never stepped along: its stride says nothing.
    let stepped = sizes.into_iter().zip(strides).filter(|(size, _)| *size > 1);
    stepped
        .map(|(_, stride)| stride as u64 * u64::from(Dtype::BYTES))
        .find(|bytes| !(1..STRIDE_LIMIT).contains(bytes))
}

/// Keys up to which a causal mask leaves too little of a tile of 192 rows: measured on an H200
/// (docs/perf/hopper.md).
const SHORT: usize = 1024;

/// The order of the warpgroups for a head size, as measured on an H200: O += P V reads P from registers, which takes
/// the tensor cores longer, and from D = 96 on that time is worth sharing with another's S.
const fn turns(columns: u32) -> Turns {
    match columns {
        0..=64 => Turns::Ordered,
        _ => Turns::Scores,
    }
}

/// The tile for a problem.
///
/// Registers bound it: a lane holds `block_n / 2` scores, half as many registers of P and `D / 2` sums of
/// O, of 232 with two warpgroups and 160 with three. Up to D = 64 three warpgroups fit, and share one
/// K and V. Shared memory bounds it for D of 192 and 256.
fn tile(problem: &Problem) -> FwdSm90Tile {
    let is_short = MaskKind::from(problem.mask) == MaskKind::Causal && problem.seq_k <= SHORT;
    let (block_m, block_n) = match problem.head_dim {
        0..=64 if is_short => (128, 128),
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

#[cfg(test)]
mod tests;
