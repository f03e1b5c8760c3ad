//! The kernel before the forward: tensor maps of Q, K and V, and the count of fetched works.

use crate::config::sm90::FwdSm90Config;
use crate::scheduler::FwdShape;
use crate::tensor::address::{SHARED_ALIGNMENT, global_address, global_address_mut, unit_position};
use crate::tensor::gmem::clear_count;
use crate::tensor::map::{
    BoxKind, TENSOR_MAP_BYTES, TensorSizes, clear_maps, describe, publish_maps,
};
use cubecl::prelude::*;

/// Maps of a launch: Q's, K's, V's.
pub(crate) const MAPS: u32 = 3;
/// Words of all of them.
const MAP_WORDS: u32 = MAPS * TENSOR_MAP_BYTES / 4;
/// Bytes from the first map to the count of works that cubes have fetched beyond their first.
pub(crate) const FETCHED: u32 = MAPS * TENSOR_MAP_BYTES;
/// Words of the maps and the count.
pub(crate) const WORKSPACE_WORDS: u32 = MAP_WORDS + 1;

/// Makes the maps in `workspace`, and clears the count. Launch with one cube of one plane.
#[cube(launch_unchecked)]
pub fn tensor_maps(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    workspace: &mut [u32],
    shape: FwdShape,
    #[comptime] config: FwdSm90Config,
) {
    let mut shared =
        Shared::<[u32]>::new_aligned_slice(comptime!(MAP_WORDS as usize), SHARED_ALIGNMENT);
    let lane = unit_position();
    let base = clear_maps(&mut shared, lane, MAPS);
    let target = global_address_mut(&mut workspace[0..1]);
    // One branch on the lane: LLVM would join a second one behind `publish_maps` with it, and copy what all lanes
    // must do together into both of its sides.
    if lane == 0 {
        clear_count(target, FETCHED);
        let batch = shape.heads_total / shape.heads_q;
        let queries = TensorSizes {
            batch,
            heads: shape.heads_q,
            rows: shape.seq_q,
            columns: shape.head_dim,
        };
        // Without keys nothing is loaded, but a size can't be 0.
        let keys = TensorSizes {
            batch,
            heads: shape.heads_q / shape.group_size,
            rows: max(shape.seq_k, 1u32),
            columns: shape.head_dim,
        };
        let q_box = comptime!(BoxKind {
            tile: config.q_tile(),
            dtype: config.dtype(),
        });
        let kv_box = comptime!(BoxKind {
            tile: config.kv_tile(),
            dtype: config.dtype(),
        });
        let bytes = TENSOR_MAP_BYTES;
        describe(base, global_address(&q[0..1]), &queries, &shape.q, q_box);
        describe(
            base + bytes,
            global_address(&k[0..1]),
            &keys,
            &shape.k,
            kv_box,
        );
        describe(
            base + 2 * bytes,
            global_address(&v[0..1]),
            &keys,
            &shape.v,
            kv_box,
        );
    }
    publish_maps(base, target, MAPS);
}
