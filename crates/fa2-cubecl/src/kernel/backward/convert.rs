//! From the sums of dQ to dQ: scale, round, and undo the order of registers. One cube (CTA) a block of
//! queries.

use crate::config::backward::BwdConfig;
use crate::config::{Columns, MMA_M, WARP};
use crate::copy::atom::r2g_pair;
use crate::kernel::backward::scheduler::{BwdShape, query_tile};
use crate::kernel::backward::sums;
use crate::mma::atom::round_pair;
use crate::problem::Dtype;
use crate::tensor::address::{global_address, global_address_mut, unit_position};
use crate::tensor::gmem::row_address;
use cubecl::prelude::*;

/// `dQ = scale sums`.
///
/// Launch with `m_blocks` cubes for each query head, of `config.threads()` units, after the keys.
#[cube(launch_unchecked)]
pub fn backward_convert(
    dq_sums: &[f32],
    d_q: &mut [u32],
    shape: BwdShape,
    #[comptime] config: BwdConfig,
) {
    let work = query_tile(&shape, config);
    let layout = comptime!(config.query_layout());
    let unit = unit_position();
    let (warp, lane) = (unit / WARP, unit % WARP);
    let source = global_address(&dq_sums[0..1]) + sums::offset(work.block as u64, config);
    let first_row = warp % comptime!(layout.warps) * MMA_M + lane / 4;
    let first_column =
        warp / comptime!(layout.warps) * comptime!(config.query_warp_columns()) + lane % 4 * 2;
    let matrix = global_address_mut(&mut d_q[0..1]);
    let sums = sums::load(source, config);
    #[unroll]
    for m in 0..comptime!(layout.m_tiles) {
        #[unroll]
        for half in 0..2usize {
            let row = work.row + first_row + comptime!(layout.row_offset(m, half));
            if row < shape.seq_q {
                let target = row_address(matrix, &shape.d_q, work.batch, work.head, row)
                    + (first_column * comptime!(Dtype::BYTES)) as u64;
                #[unroll]
                for n in 0..comptime!(layout.n_tiles) {
                    let low = sums.values[comptime!(layout.index(0, half, m, n))] * shape.scale;
                    let high = sums.values[comptime!(layout.index(1, half, m, n))] * shape.scale;
                    let offset = comptime!(layout.column_offset(0, n));
                    // With exact columns the right side is never expanded.
                    if comptime!(config.columns() == Columns::Exact)
                        || first_column + offset < shape.head_dim
                    {
                        let pair = round_pair(low, high, comptime!(config.dtype()));
                        r2g_pair(target, comptime!(offset * Dtype::BYTES), pair);
                    }
                }
            }
        }
    }
}
