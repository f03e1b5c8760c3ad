//! What the backward kernels get beside their buffers.

use crate::arguments::Arguments;
use crate::config::backward::BwdConfig;
use crate::heuristics::FwdPlan;
use crate::heuristics::backward::BwdPlan;
use crate::kernel::backward::queries::QueryShapeLaunch;
use crate::kernel::backward::scheduler::BwdShapeLaunch;
use crate::kernel::backward::sums;
use crate::problem::{Dtype, Problem};
use crate::tensor::gmem::ByteStridesLaunch;

/// Strides of Q, K, V, O, dO, dQ, dK and dV in elements, between batch entries, heads and rows.
pub type BwdStrides = [[usize; 3]; 8];

/// The fields of [`BwdShape`](crate::kernel::backward::scheduler::BwdShape), in its order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BwdArguments {
    /// `seq_q` to `n_blocks`.
    pub counts: [u32; 10],
    pub diagonal: i32,
    /// `scale` and `scale_log2`.
    pub scales: [f32; 2],
    /// Bytes between batch entries, heads, rows, copy passes and key blocks.
    pub strides: [[u64; 5]; 8],
}

/// Blocks of queries of a head.
fn m_blocks(problem: &Problem, config: &BwdConfig) -> usize {
    problem.seq_q.div_ceil(config.block_m() as usize)
}

/// Blocks of keys of a head.
fn n_blocks(problem: &Problem, config: &BwdConfig) -> usize {
    problem.seq_k.div_ceil(config.block_n() as usize)
}

/// Cubes (CTAs) of the kernels whose cubes own queries; saturating, since a launch refuses too many.
pub(crate) fn query_cubes(problem: &Problem, config: &BwdConfig) -> usize {
    m_blocks(problem, config).saturating_mul(problem.batch * problem.heads_q)
}

/// Cubes of the kernel whose cubes own keys.
pub(crate) fn key_cubes(problem: &Problem, config: &BwdConfig) -> usize {
    n_blocks(problem, config).saturating_mul(problem.batch * problem.heads_kv)
}

/// Bytes of the row terms.
pub(crate) fn terms_bytes(problem: &Problem, config: &BwdConfig) -> usize {
    query_cubes(problem, config) * config.term_bytes() as usize
}

/// Bytes of the sums of dQ, with the count of key blocks where these add in order.
pub(crate) fn sums_bytes(problem: &Problem, config: &BwdConfig) -> usize {
    query_cubes(problem, config) * sums::block_bytes(*config) as usize
}

impl BwdArguments {
    /// Of a valid problem.
    pub(crate) fn new(problem: &Problem, plan: &BwdPlan, strides: BwdStrides) -> Self {
        let config = &plan.config;
        let heads_total = (problem.batch * problem.heads_kv) as u32;
        Self {
            counts: [
                problem.seq_q as u32,
                problem.seq_k as u32,
                problem.head_dim as u32,
                problem.heads_q as u32,
                problem.heads_kv as u32,
                problem.group_size() as u32,
                heads_total,
                plan.section.clamp(1, heads_total),
                m_blocks(problem, config) as u32,
                n_blocks(problem, config) as u32,
            ],
            diagonal: problem.diagonal(),
            scales: [
                problem.scale,
                (f64::from(problem.scale) * std::f64::consts::LOG2_E) as f32,
            ],
            strides: strides.map(|strides| {
                let [batch, head, row] = strides.map(|s| s as u64 * u64::from(Dtype::BYTES));
                let pass = row * u64::from(config.row_share().rows_per_pass());
                let block = row * u64::from(config.block_n());
                [batch, head, row, pass, block]
            }),
        }
    }

    /// As CubeCL takes them.
    pub(crate) fn launch(self) -> BwdShapeLaunch {
        let [
            seq_q,
            seq_k,
            head_dim,
            heads_q,
            heads_kv,
            group_size,
            heads_total,
            section,
            m_blocks,
            n_blocks,
        ] = self.counts;
        let [scale, scale_log2] = self.scales;
        let [q, k, v, o, d_o, d_q, d_k, d_v] =
            self.strides.map(|[batch, head, row, pass, block]| {
                ByteStridesLaunch::new(batch, head, row, pass, block)
            });
        BwdShapeLaunch::new(
            seq_q,
            seq_k,
            head_dim,
            heads_q,
            heads_kv,
            group_size,
            heads_total,
            section,
            m_blocks,
            n_blocks,
            self.diagonal,
            scale,
            scale_log2,
            q,
            k,
            v,
            o,
            d_o,
            d_q,
            d_k,
            d_v,
        )
    }
}

/// The fields of [`QueryShape`](crate::kernel::backward::queries::QueryShape), in its order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueryArguments {
    /// With the strides of dQ for those of O.
    pub forward: Arguments,
    /// Strides of dO.
    pub d_o: [u64; 5],
    pub term_rows: u32,
    pub scale: f32,
}

impl QueryArguments {
    /// Of a valid problem whose row terms are those of `config`; `queries` is the pass for dQ.
    pub(crate) fn new(
        problem: &Problem,
        config: &BwdConfig,
        queries: &FwdPlan,
        strides: BwdStrides,
    ) -> Self {
        let [q, k, v, _, d_o, d_q, ..] = strides;
        let of = |last| Arguments::new(problem, queries, [q, k, v, last]);
        Self {
            forward: of(d_q),
            d_o: of(d_o).strides[3],
            term_rows: m_blocks(problem, config) as u32 * config.block_m(),
            scale: problem.scale,
        }
    }

    /// As CubeCL takes them.
    pub(crate) fn launch(self) -> QueryShapeLaunch {
        let [batch, head, row, pass, block] = self.d_o;
        QueryShapeLaunch::new(
            self.forward.launch(),
            ByteStridesLaunch::new(batch, head, row, pass, block),
            self.term_rows,
            self.scale,
        )
    }
}
