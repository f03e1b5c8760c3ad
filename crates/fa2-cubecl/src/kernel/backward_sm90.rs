//! The backward's main kernel for SM90: wgmma, boxes by the tensor memory accelerator, and warpgroups with
//! roles.
//!
//! One cube (CTA) owns `block_n` keys of a key/value head and visits the query blocks that see them, of
//! every query head of the group, as the kernel of SM80 does. Warpgroups compute, with 64 keys each; one
//! warpgroup more, or one of their threads, loads ([`Loads`]). Scores are transposed, so that P^T and dS^T are A operands in registers; dS
//! goes through shared memory for dQ only, which sums over the keys of all warpgroups:
//!
//! ```text
//! K --tma--> A ┐                       V --tma--> A ┐
//! Q --tma--> B ┴ wgmma -> S^T -> P^T  dO --tma--> B ┴ wgmma -> dP^T -> dS^T --r2s--> sdS
//! P^T (A by c_to_a) ┐              dS^T (the same) ┐            sdS (transposed view) -> A ┐
//! dO -> B.T         ┴ wgmma -> dV  Q -> B.T        ┴ wgmma -> dK  K -> B.T              ┴ wgmma -> dQ
//! ```
//!
//! Above 128 columns two warpgroups share 64 keys instead: [`shared_keys`].
//!
//! The row terms, the sums of dQ and what makes dQ of them are those of SM80 ([`backward`](super::backward)).

pub(crate) mod consumer;
pub(crate) mod keeper;
pub mod maps;
mod operands;
pub(crate) mod pipeline;
pub(crate) mod producer;
mod scores;
pub(crate) mod shared_keys;

use crate::config::WARP;
use crate::config::backward::{BwdConfig, Loads, QuerySums};
use crate::kernel::backward::scheduler::{BwdShape, KeyTile, key_tile};
use crate::kernel::backward::{epilogue, sums};
use crate::kernel::backward_sm90::consumer::consume;
use crate::kernel::backward_sm90::keeper::keep_turns;
use crate::kernel::backward_sm90::pipeline::QueryRing;
use crate::kernel::backward_sm90::producer::{Loader, produce};
use crate::kernel::backward_sm90::shared_keys::share_keys;
use crate::pipeline::registers::{claim_computing_registers, release_loading_registers};
use crate::tensor::address::{
    SHARED_ALIGNMENT, global_address, global_address_mut, shared_address, unit_position,
    warpgroup_index,
};
use cubecl::prelude::*;

/// dK and dV of every key, and the sums of dQ where `config` has them.
///
/// `maps` are those that [`backward_maps`](maps::backward_maps()) has made of `q`, `k`, `v` and `d_o`. The
/// four are read through them only, and are arguments so that CubeCL keeps them until this kernel has run.
/// Launch with `n_blocks heads_total` cubes of `config.key_threads()` units, after the preprocess.
#[cube(launch_unchecked)]
#[allow(unused_variables, reason = "tensors are read through their maps")]
pub fn backward_keys_sm90(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    d_o: &[u32],
    maps: &[u32],
    terms: &[f32],
    dq_sums: &mut [f32],
    d_k: &mut [u32],
    d_v: &mut [u32],
    shape: BwdShape,
    #[comptime] config: BwdConfig,
) {
    let work = key_tile(&shape, config);
    // One allocation, carved by hand, as in the forward kernel.
    let words = comptime!((config.shared_bytes() / 4) as usize);
    let mut shared = Shared::<[u32]>::new_aligned_slice(words, SHARED_ALIGNMENT);
    let shared = shared_address(&mut shared[0..1]);
    let (maps, terms) = (global_address(&maps[0..1]), global_address(&terms[0..1]));
    let sums = global_address_mut(&mut dq_sums[0..1]);
    let d_k = global_address_mut(&mut d_k[0..1]);
    let d_v = global_address_mut(&mut d_v[0..1]);
    if comptime!(config.shares_keys()) {
        share_keys(shared, maps, terms, sums, d_k, d_v, &shape, &work, config);
    } else {
        own_keys(shared, maps, terms, sums, d_k, d_v, &shape, &work, config);
    }
}

/// Warpgroups with 64 keys each; arguments as those of [`share_keys()`].
#[cube]
fn own_keys(
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
    let ring = QueryRing::new(shared, config);
    ring.open();
    let mut loader = Loader::new(maps, terms, work, config);
    if comptime!(config.loads() == Loads::Thread) {
        compute(&ring, &mut loader, sums, d_k, d_v, shape, work, config);
    } else if warpgroup_index() == comptime!(config.warpgroups()) {
        release_loading_registers(comptime!(config.registers()));
        // A warp for each, so that none waits for the other.
        let unit = unit_position();
        if unit == comptime!(config.threads()) {
            produce(&ring, &mut loader, shape, work, config);
        }
        if comptime!(config.query_sums() == QuerySums::Ordered)
            && unit == comptime!(config.threads() + WARP)
        {
            keep_turns(&ring.turns(), sums, shape, work, 0u32, 1u32, config);
        }
    } else {
        claim_computing_registers(comptime!(config.registers()));
        compute(&ring, &mut loader, sums, d_k, d_v, shape, work, config);
    }
}

/// The part of a warpgroup that computes.
#[cube]
fn compute(
    ring: &QueryRing,
    loader: &mut Loader,
    sums: u64,
    d_k: u64,
    d_v: u64,
    shape: &BwdShape,
    work: &KeyTile,
    #[comptime] config: BwdConfig,
) {
    let gradients = consume(ring, loader, sums, shape, work, config);
    epilogue::store(
        &gradients.d_k,
        &gradients.d_v,
        ring.shared,
        d_k,
        d_v,
        shape,
        config,
    );
    if comptime!(config.adds_in_bulk()) {
        // Last, so that it takes no time: the cube's memory must not go before the copy engine has read it.
        sums::await_staged();
    }
}
