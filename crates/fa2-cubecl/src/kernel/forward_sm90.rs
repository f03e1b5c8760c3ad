//! The forward kernel for SM90: wgmma, boxes by the tensor memory accelerator, and warpgroups with roles.
//!
//! A piece of work is `block_m` query rows of one head and the key blocks that they see. There are as many cubes
//! (CTAs) as multiprocessors, and each fetches work until none is left, the heaviest first: the loads of the
//! next begin under the last products and the stores of the one before. One of a cube's warpgroups loads,
//! in a ring guarded by barriers in shared memory; the others compute, with 64 rows each:
//!
//! ```text
//! Q --tma--> sQ ------> A ┐
//! K --tma--> sK ------> B ┴ wgmma -> S (C) --mask, softmax--> P (C, then A by c_to_a) ┐
//! V --tma--> sV (transposed view)--------------------------------------------------> B ┴ wgmma -> O (C)
//! O (C) --normalise, round, transpose in four lanes--> O
//! ```
//!
//! Products run beside the code: S of block t + 1 and O += P V of block t start together, and the softmax
//! of t + 1 works while the second goes on. Between warpgroups, turns keep the softmax of one under the
//! products of another.

pub(crate) mod consumer;
pub(crate) mod epilogue;
pub(crate) mod maps;
pub(crate) mod pipeline;
pub(crate) mod producer;

use crate::config::sm90::{FwdSm90Config, WARPGROUP};
use crate::kernel::forward_sm90::consumer::consume;
use crate::kernel::forward_sm90::pipeline::Ring;
use crate::kernel::forward_sm90::producer::produce;
use crate::pipeline::registers::{claim_computing_registers, release_loading_registers};
use crate::scheduler::FwdShape;
use crate::tensor::address::{
    SHARED_ALIGNMENT, global_address_mut, shared_address, unit_position, warpgroup_index,
};
use cubecl::prelude::*;

/// `O = softmax(scale Q K^T + mask) V` and its LSE, for every batch entry and head.
///
/// `workspace` is what [`tensor_maps`](maps::tensor_maps()) has made of `q`, `k` and `v`. The three are
/// read through its maps only, and are arguments so that CubeCL keeps them until this kernel has run. Launch
/// with cubes of `config.threads()` units, at most one for each work.
#[cube(launch_unchecked)]
#[allow(unused_variables, reason = "Q, K and V are read through their maps")]
pub fn forward_sm90(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    workspace: &mut [u32],
    o: &mut [u32],
    lse: &mut [f32],
    shape: FwdShape,
    #[comptime] config: FwdSm90Config,
) {
    // One allocation, carved by hand: CubeCL places several by the life of their values, and
    // addresses that went into PTX are invisible to it.
    let words = comptime!((config.shared_bytes() / 4) as usize);
    let mut shared = Shared::<[u32]>::new_aligned_slice(words, SHARED_ALIGNMENT);
    let ring = Ring::new(shared_address(&mut shared[0..1]), config);
    ring.open();
    let warpgroup = warpgroup_index();
    if warpgroup == comptime!(config.warpgroups()) {
        release_loading_registers(comptime!(config.registers()));
        if unit_position() == comptime!(config.warpgroups() * WARPGROUP) {
            produce(
                &ring,
                global_address_mut(&mut workspace[0..1]),
                &shape,
                config,
            );
        }
    } else {
        claim_computing_registers(comptime!(config.registers()));
        consume(
            &ring,
            warpgroup,
            global_address_mut(&mut o[0..1]),
            global_address_mut(&mut lse[0..1]),
            &shape,
            config,
        );
    }
}
