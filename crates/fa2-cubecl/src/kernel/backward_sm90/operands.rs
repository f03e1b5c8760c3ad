//! What a warpgroup that computes reads and writes in shared memory.

use crate::config::WARP;
use crate::config::backward::{BwdConfig, Loads};
use crate::config::sm90::WARPGROUP_ROWS;
use crate::copy::r2s_block::R2sBlock;
use crate::mma::warpgroup::atom::Major;
use crate::mma::warpgroup::operand::{Operand, OperandForm, column_bytes};
use crate::tensor::address::{unit_position, warpgroup_index, warpgroup_index_in_lanes};
use cubecl::prelude::*;

/// A warpgroup's views of shared memory; V and dO are beside K and Q.
#[derive(CubeType)]
pub(crate) struct Operands {
    /// This warpgroup's keys of K.
    pub k: Operand,
    /// Q in the first stage.
    pub q: Operand,
    /// dS^T, transposed: the queries whose dQ is this warpgroup's.
    pub ds: Operand,
    /// K, transposed: the columns of dQ that are this warpgroup's.
    pub k_transposed: Operand,
    /// dS^T as a target.
    pub ds_target: R2sBlock,
}

#[cube]
impl Operands {
    /// Those of this unit's warpgroup; `shared` is the shared address where the cube's memory begins.
    pub fn new(shared: u32, #[comptime] config: BwdConfig) -> Operands {
        let keys = comptime!(OperandForm::new(config.kv_tile(), Major::K));
        let keys_transposed = comptime!(OperandForm::new(config.kv_tile(), Major::Mn));
        let queries = comptime!(OperandForm::new(config.q_tile(), Major::K));
        let scores = comptime!(OperandForm::new(config.score_tile(), Major::Mn));
        let unit = unit_position();
        // Descriptors in uniform registers: measured up to 2% faster for blocks of 64 queries, up to 6% slower for those
        // of 128 that a computing thread loads (docs/perf/hopper.md).
        let in_lanes = comptime!(config.block_m() == 128 && config.loads() == Loads::Thread);
        let warpgroup = if in_lanes {
            warpgroup_index_in_lanes()
        } else {
            warpgroup_index()
        };
        // As the warps of dQ's layout: along the queries first.
        let along_queries = comptime!(config.block_m() / WARPGROUP_ROWS);
        let query = warpgroup % along_queries * WARPGROUP_ROWS;
        let column = warpgroup / along_queries * comptime!(config.query_warp_columns());
        let rows = shared + warpgroup * comptime!(WARPGROUP_ROWS * keys.row_bytes());
        let stages = shared + comptime!(config.stages_offset());
        let ds = shared + comptime!(config.ds_offset());
        Operands {
            k: Operand::new(rows, keys),
            q: Operand::new(stages, queries),
            ds: Operand::new(ds + column_bytes(query, scores), scores),
            k_transposed: Operand::new(
                shared + column_bytes(column, keys_transposed),
                keys_transposed,
            ),
            ds_target: R2sBlock::new(
                ds,
                unit / WARP,
                0u32,
                unit % WARP,
                comptime!(config.score_tile()),
                comptime!(config.score_layout()),
                comptime!(config.instructions()),
            ),
        }
    }
}
