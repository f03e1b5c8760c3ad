//! Two warpgroups that share 64 keys, for heads so large that dK and dV of them fill one's registers.
//!
//! Blocks of 64 queries go to one and the other in turn: S, P, dP, dS and dQ of a block are of one warpgroup,
//! rows are queries, and dS is the A operand of dQ in registers. Over all blocks one warpgroup sums up dK,
//! the other dV, so each needs dS or P of both, transposed; they lie in shared memory for that:
//!
//! ```text
//! Q --tma--> A ┐                     dO --tma--> A ┐                     dS (A by c_to_a) ┐
//! K --tma--> B ┴ wgmma -> S -> P      V --tma--> B ┴ wgmma -> dP -> dS   K -> B.T         ┴ wgmma -> dQ
//! dS of both --r2s--> sdS -> A.T ┐            P of both --r2s--> sP -> A.T ┐
//! Q of both -> B.T               ┴ wgmma -> dK          dO of both -> B.T  ┴ wgmma -> dV
//! ```
//!
//! Who sums up dV starts it as soon as P is there, under which both compute dS; dK follows, and dQ is added
//! to its sums under the products that are left.

mod consumer;
mod pipeline;
mod producer;
mod roles;
mod scores;

use crate::config::WARP;
use crate::config::backward::{BwdConfig, QuerySums};
use crate::kernel::backward::epilogue;
use crate::kernel::backward::scheduler::{BwdShape, KeyTile};
use crate::kernel::backward_sm90::keeper::keep_turns;
use crate::kernel::backward_sm90::shared_keys::consumer::consume;
use crate::kernel::backward_sm90::shared_keys::pipeline::BlockRing;
use crate::kernel::backward_sm90::shared_keys::producer::produce;
use crate::kernel::backward_sm90::shared_keys::roles::{Gradient, Side};
use crate::pipeline::registers::{claim_computing_registers, release_loading_registers};
use crate::tensor::address::{unit_position, warpgroup_index};
use crate::tensor::map::Maps;
use cubecl::prelude::*;

/// Keeps the turns of the warpgroup that sums up `gradient`: it has every other block.
#[cube]
fn keep(
    ring: &BlockRing,
    sums: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] gradient: Gradient,
    #[comptime] config: BwdConfig,
) {
    let turns = ring.turns(gradient);
    keep_turns(&turns, sums, shape, work, gradient.index(), 2u32, config);
}

/// dK and dV of `work`, and the sums of dQ where `config` has them. `shared`, a shared address, is where the
/// cube's memory begins; `maps`, `terms`, `sums`, `d_k` and `d_v` are global addresses.
#[cube]
pub(crate) fn share_keys(
    shared: u32,
    maps: u64,
    terms: u64,
    sums: u64,
    d_k: u64,
    d_v: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    let ring = BlockRing::new(shared, config);
    ring.open();
    let warpgroup = warpgroup_index();
    if warpgroup == comptime!(config.warpgroups()) {
        release_loading_registers(comptime!(config.registers()));
        let maps = Maps { address: maps };
        // A warp for each side and for each warpgroup's turns, so that none waits for another.
        let unit = unit_position();
        if unit == comptime!(config.threads()) {
            produce(&ring, &maps, terms, shape, work, Side::Queries, config);
        }
        if unit == comptime!(config.threads() + WARP) {
            produce(&ring, &maps, terms, shape, work, Side::Outputs, config);
        }
        if comptime!(config.query_sums() == QuerySums::Ordered) {
            if unit == comptime!(config.threads() + 2 * WARP) {
                keep(&ring, sums, shape, work, Gradient::Keys, config);
            }
            if unit == comptime!(config.threads() + 3 * WARP) {
                keep(&ring, sums, shape, work, Gradient::Values, config);
            }
        }
    } else {
        claim_computing_registers(comptime!(config.registers()));
        if warpgroup == 0 {
            let d = consume(&ring, sums, shape, work, Gradient::Keys, config);
            epilogue::store_one(&d, shape.scale, shared, shared, d_k, d_v, shape, config);
        } else {
            let d = consume(&ring, sums, shape, work, Gradient::Values, config);
            let tile = shared + comptime!(config.kv_bytes());
            epilogue::store_one(&d, 1.0f32, tile, shared, d_k, d_v, shape, config);
        }
    }
}
