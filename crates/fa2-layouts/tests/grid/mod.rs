//! Sizes that the tests range over: every head size, one and several repeats of each kind.

use fa2_layouts::{HEAD_DIMS, RowCopy, Sizes};

pub(crate) fn sizes() -> Vec<Sizes> {
    let mut sizes = vec![Sizes::ARTICLE];
    for head_dim in HEAD_DIMS {
        for (blocks, warps) in [([64, 32], 4), ([128, 96], 4), ([16, 16], 1), ([32, 64], 2)] {
            for row_copy in [RowCopy::HalfRow, RowCopy::WholeRow] {
                sizes.extend(Sizes::new(head_dim, blocks, warps, row_copy));
            }
        }
    }
    for head_dim in HEAD_DIMS {
        for (blocks, warps) in [
            ([64, 16], 4),
            ([128, 176], 8),
            ([192, 128], 12),
            ([128, 64], 4),
        ] {
            sizes.extend(Sizes::new(head_dim, blocks, warps, RowCopy::Bulk));
        }
    }
    assert!(sizes.len() > 50, "{} sizes only", sizes.len());
    sizes
}
