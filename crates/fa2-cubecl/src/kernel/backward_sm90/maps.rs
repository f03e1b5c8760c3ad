//! The kernel before the main one: tensor maps of Q, K, V and dO.

use crate::config::backward::BwdConfig;
use crate::kernel::backward::scheduler::BwdShape;
use crate::tensor::address::{SHARED_ALIGNMENT, global_address, global_address_mut, unit_position};
use crate::tensor::map::{
    BoxKind, TENSOR_MAP_BYTES, TensorSizes, clear_maps, describe, publish_maps,
};
use cubecl::prelude::*;

/// Maps of a launch: Q's, K's, V's, dO's.
pub(crate) const MAPS: u32 = 4;
/// Words of all of them.
pub(crate) const MAP_WORDS: u32 = MAPS * TENSOR_MAP_BYTES / 4;

/// Makes `maps`. Launch with one cube of one plane.
#[cube(launch_unchecked)]
pub fn backward_maps(
    q: &[u32],
    k: &[u32],
    v: &[u32],
    d_o: &[u32],
    maps: &mut [u32],
    shape: BwdShape,
    #[comptime] config: BwdConfig,
) {
    let mut shared =
        Shared::<[u32]>::new_aligned_slice(comptime!(MAP_WORDS as usize), SHARED_ALIGNMENT);
    let lane = unit_position();
    let base = clear_maps(&mut shared, lane, MAPS);
    if lane == 0 {
        let batch = shape.heads_total / shape.heads_kv;
        let queries = TensorSizes {
            batch,
            heads: shape.heads_q,
            rows: shape.seq_q,
            columns: shape.head_dim,
        };
        let keys = TensorSizes {
            batch,
            heads: shape.heads_kv,
            rows: shape.seq_k,
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
        let k = global_address(&k[0..1]);
        describe(base + bytes, k, &keys, &shape.k, kv_box);
        let v = global_address(&v[0..1]);
        describe(base + 2 * bytes, v, &keys, &shape.v, kv_box);
        let d_o = global_address(&d_o[0..1]);
        describe(base + 3 * bytes, d_o, &queries, &shape.d_o, q_box);
    }
    publish_maps(base, global_address_mut(&mut maps[0..1]), MAPS);
}
