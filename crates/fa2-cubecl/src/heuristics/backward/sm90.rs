//! Which tile of the backward kernels for SM90 serves a problem, and whether they serve it: a pure table,
//! with its reasons.

use crate::config::backward::{BwdConfig, BwdTile, Instructions, QuerySums};
use crate::error::{ConfigError, Sm90Refusal};
use crate::heuristics::Gpu;
use crate::heuristics::backward::{BwdPlan, choose_queries, section};
use crate::heuristics::sm90::{heads_of_waves, refusal_of};
use crate::mask::MaskKind;
use crate::problem::{Mask, Problem};

/// Heads of a section where key blocks add to dQ in order: a GPU of 132 multiprocessors then runs 8 blocks of each.
const ORDERED_HEADS: u32 = 16;
/// The same for large heads that see all keys, where [`ORDERED_HEADS`] don't fit the L2 cache.
const ORDERED_LARGE_HEADS: u32 = 4;
/// Bytes of Q, dO and the sums of dQ that stay in the L2 cache (50 MB on an H200) beside all else.
const ORDERED_CACHE_BYTES: usize = 32 << 20;

/// The plan for `problem` on `gpu`. Where dQ has a pass of its own, that is the one of
/// [`choose_backward`](super::choose_backward).
///
/// # Errors
/// A head size above 256, which no kernel has.
pub fn choose_backward_sm90(
    problem: &Problem,
    gpu: Gpu,
    query_sums: QuerySums,
) -> Result<BwdPlan, ConfigError> {
    let columns = problem.head_dim as u32;
    let mask = MaskKind::from(problem.mask);
    let instructions = Instructions::Sm90a;
    let config = BwdConfig::made_of(instructions, problem.dtype, columns, mask, tile(columns))?;
    let section = match (query_sums, problem.mask) {
        (QuerySums::Ordered, _) => ordered_section(problem),
        (QuerySums::Atomic | QuerySums::Owned, Mask::None) => 1,
        (QuerySums::Atomic | QuerySums::Owned, Mask::Causal(_)) => {
            let blocks = (problem.seq_k as u32).div_ceil(config.block_n());
            heads_of_waves(1, blocks, (problem.batch * problem.heads_kv) as u32)
        }
    };
    Ok(BwdPlan {
        config: config.with_query_sums(query_sums),
        section,
        queries: choose_queries(problem, gpu, query_sums)?,
    })
}

/// Heads of a section where key blocks add to dQ in order. A cube that starts beside those before it waits for the
/// turns of all of them first: so many heads that these are few, and that cubes end in the order in which others start.
fn ordered_section(problem: &Problem) -> u32 {
    let heads = (problem.batch * problem.heads_kv) as u32;
    let least = match problem.mask {
        Mask::None if problem.head_dim > 128 && !fits_cache(problem) => ORDERED_LARGE_HEADS,
        Mask::None | Mask::Causal(_) => ORDERED_HEADS,
    };
    section(problem).max(least).min(heads.max(1))
}

/// Whether what [`ORDERED_HEADS`] read of queries and add to fits the cache.
fn fits_cache(problem: &Problem) -> bool {
    let rows = problem.heads_q / problem.heads_kv.max(1) * problem.seq_q;
    // Two bytes of Q and of dO, four of a sum.
    let bytes = ORDERED_HEADS as usize * rows * problem.head_dim * (2 + 2 + 4);
    bytes <= ORDERED_CACHE_BYTES
}

/// Why `plan`, made of [`Instructions::Sm90a`], does not serve `problem` on `gpu`, if so. `strides` of Q, K,
/// V and dO in elements, between batch entries, heads and rows.
#[must_use]
pub fn refusal_of_backward_sm90(
    plan: &BwdPlan,
    problem: &Problem,
    strides: [[usize; 3]; 4],
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
    let (queries, keys) = ([batch, heads_q, seq_q], [batch, heads_kv, seq_k]);
    let [q, k, v, d_o] = strides;
    let tensors = [
        ("q", queries, q),
        ("k", keys, k),
        ("v", keys, v),
        ("d_o", queries, d_o),
    ];
    refusal_of(plan.config.shared_bytes(), &tensors, gpu)
}

/// The tile for a head size.
///
/// Registers bound it: of 240 with two warpgroups, a thread has D for dK and dV, block_m for S and dP and
/// half as many for P and dS. 128 queries at D = 64 use them best: each warpgroup then owns whole rows of
/// dQ. At D = 128 there is room for 64. A third stage lets dK of a block go on while two more are copied.
///
/// Above, 64 keys a warpgroup would leave no registers for S and dP, so two warpgroups share 64: of 240
/// registers a thread has D / 2 for dK or dV, 64 for S and dP, or two parts of dQ, and 16 for dS. Shared
/// memory holds two blocks of 64 queries at D = 256, which one step takes, and three at D = 192.
const fn tile(columns: u32) -> BwdTile {
    match columns {
        0..=64 => BwdTile::warpgroups(128, 128, 3),
        65..=128 => BwdTile::warpgroups(64, 128, 3),
        129..=192 => BwdTile::shared_keys(3),
        _ => BwdTile::shared_keys(2),
    }
}

#[cfg(test)]
mod tests;
