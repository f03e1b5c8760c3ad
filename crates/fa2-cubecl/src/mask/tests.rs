//! A row sees exactly the columns below its end.

use super::{MaskKind, end_column, first_query};
use crate::problem::{Alignment, Dtype, Mask, Problem};
use proptest::prelude::*;

fn problem(seq_q: usize, seq_k: usize, mask: Mask) -> Problem {
    Problem {
        batch: 1,
        heads_q: 1,
        heads_kv: 1,
        seq_q,
        seq_k,
        head_dim: 64,
        dtype: Dtype::F16,
        mask,
        scale: 1.0,
    }
}

proptest! {
    #[test]
    fn a_row_sees_exactly_the_columns_below_its_end(
        seq_q in 1_usize..80,
        seq_k in 0_usize..80,
        mask in prop::sample::select(vec![
            Mask::None,
            Mask::Causal(Alignment::TopLeft),
            Mask::Causal(Alignment::BottomRight),
        ]),
    ) {
        let diagonal = problem(seq_q, seq_k, mask).diagonal();
        for row in 0..seq_q as i32 {
            let end = end_column(row, seq_k as i32, diagonal, MaskKind::from(mask));
            for column in 0..seq_k as i32 + 20 {
                // The definitions in words: top left counts from the first query and key, bottom
                // right from the last ones.
                let visible = match mask {
                    Mask::None => true,
                    Mask::Causal(Alignment::TopLeft) => column <= row,
                    Mask::Causal(Alignment::BottomRight) => {
                        seq_k as i32 - 1 - column >= seq_q as i32 - 1 - row
                    }
                };
                prop_assert_eq!(column < end, visible && column < seq_k as i32);
            }
        }
    }

    #[test]
    fn a_key_is_seen_by_the_queries_from_its_first_on(
        seq_q in 1_usize..80,
        seq_k in 1_usize..80,
        mask in prop::sample::select(vec![
            Mask::None,
            Mask::Causal(Alignment::TopLeft),
            Mask::Causal(Alignment::BottomRight),
        ]),
    ) {
        let diagonal = problem(seq_q, seq_k, mask).diagonal();
        for key in 0..seq_k as i32 + 20 {
            let first = first_query(key, seq_k as i32, diagonal, MaskKind::from(mask));
            for row in 0..seq_q as i32 {
                let end = end_column(row, seq_k as i32, diagonal, MaskKind::from(mask));
                prop_assert_eq!(row >= first, key < end);
            }
        }
    }
}
