//! The kernel before the forward: tensor maps of Q, K and V.

use crate::config::sm90::FwdSm90Config;
use crate::scheduler::FwdShape;
use crate::tensor::address::{SHARED_ALIGNMENT, global_address, global_address_mut, unit_position};
use crate::tensor::map::{
    BoxKind, TENSOR_MAP_BYTES, TensorSizes, clear_maps, describe, publish_maps,
};
use cubecl::prelude::*;

/// Maps of a launch: Q's, K's, V's.
pub(crate) const MAPS: u32 = 3;
/// Words of all of them.
pub(crate) const MAP_WORDS: u32 = MAPS * TENSOR_MAP_BYTES / 4;

/// Makes `maps`. Launch with one cube of one plane.
#[cube(launch_unchecked)]
pub fn tensor_maps(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    maps: &mut [u32],
    shape: FwdShape,
    #[comptime] config: FwdSm90Config,
) {
    let mut shared =
        Shared::<[u32]>::new_aligned_slice(comptime!(MAP_WORDS as usize), SHARED_ALIGNMENT);
    let lane = unit_position();
    let base = clear_maps(&mut shared, lane, MAPS);
    if lane == 0 {
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
    publish_maps(base, global_address_mut(&mut maps[0..1]), MAPS);
}
