//! What the kernel gets beside its buffers: the run-time shape, as plain numbers.

pub(crate) mod backward;

use crate::config::FwdConfig;
use crate::heuristics::FwdPlan;
use crate::heuristics::sm90::FwdSm90Plan;
use crate::problem::{Dtype, Problem};
use crate::scheduler::FwdShapeLaunch;
use crate::tensor::gmem::ByteStridesLaunch;

/// The fields of [`FwdShape`](crate::scheduler::FwdShape), in its order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arguments {
    /// `seq_q` to `m_blocks`.
    pub counts: [u32; 8],
    pub diagonal: i32,
    pub scale_log2: f32,
    /// Of Q, K, V and O: bytes between batch entries, heads, rows, copy passes and key blocks.
    pub strides: [[u64; 5]; 4],
}

/// Cubes (CTAs) of a launch; saturating, since a launch refuses too many.
pub(crate) fn cubes(problem: &Problem, config: &FwdConfig) -> usize {
    cubes_of(problem, config.block_m())
}

/// Cubes (CTAs) that own `block_m` query rows each.
pub(crate) fn cubes_of(problem: &Problem, block_m: u32) -> usize {
    let m_blocks = problem.seq_q.div_ceil(block_m as usize);
    m_blocks.saturating_mul(problem.batch * problem.heads_q)
}

/// What of a plan the arguments depend on.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    block_m: u32,
    block_n: u32,
    rows_per_pass: u32,
    section: u32,
}

impl Arguments {
    /// Of a valid problem; `strides` of Q, K, V and O in elements, between batch entries, heads and
    /// rows.
    pub(crate) fn new(problem: &Problem, plan: &FwdPlan, strides: [[usize; 3]; 4]) -> Self {
        let blocks = Blocks {
            block_m: plan.config.block_m(),
            block_n: plan.config.block_n(),
            rows_per_pass: plan.config.rows_per_pass(),
            section: plan.section,
        };
        Self::of(problem, blocks, strides)
    }

    /// [`new`](Self::new) for the kernels of SM90.
    pub(crate) fn sm90(problem: &Problem, plan: &FwdSm90Plan, strides: [[usize; 3]; 4]) -> Self {
        let blocks = Blocks {
            block_m: plan.config.block_m(),
            block_n: plan.config.block_n(),
            // Tensor maps bring the rows, and registers go to O: no thread walks rows by passes.
            rows_per_pass: 0,
            section: plan.section,
        };
        Self::of(problem, blocks, strides)
    }

    fn of(problem: &Problem, blocks: Blocks, strides: [[usize; 3]; 4]) -> Self {
        let heads_total = (problem.batch * problem.heads_q) as u32;
        let m_blocks = problem.seq_q.div_ceil(blocks.block_m as usize) as u32;
        Self {
            counts: [
                problem.seq_q as u32,
                problem.seq_k as u32,
                problem.head_dim as u32,
                problem.heads_q as u32,
                problem.group_size() as u32,
                heads_total,
                blocks.section.clamp(1, heads_total),
                m_blocks,
            ],
            diagonal: problem.diagonal(),
            scale_log2: (f64::from(problem.scale) * std::f64::consts::LOG2_E) as f32,
            strides: strides.map(|strides| {
                let [batch, head, row] = strides.map(|s| s as u64 * u64::from(Dtype::BYTES));
                let pass = row * u64::from(blocks.rows_per_pass);
                let block = row * u64::from(blocks.block_n);
                [batch, head, row, pass, block]
            }),
        }
    }

    /// As CubeCL takes them.
    pub(crate) fn launch(self) -> FwdShapeLaunch {
        let [
            seq_q,
            seq_k,
            head_dim,
            heads_q,
            group_size,
            heads_total,
            section,
            m_blocks,
        ] = self.counts;
        let [q, k, v, o] = self.strides.map(|[batch, head, row, pass, block]| {
            ByteStridesLaunch::new(batch, head, row, pass, block)
        });
        FwdShapeLaunch::new(
            seq_q,
            seq_k,
            head_dim,
            heads_q,
            group_size,
            heads_total,
            section,
            m_blocks,
            self.diagonal,
            self.scale_log2,
            q,
            k,
            v,
            o,
        )
    }
}
