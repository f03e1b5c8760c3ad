//! The conformance grid, and the article's own set of shapes.

use crate::case::{
    Case,
    Causal::{BottomRight, TopLeft},
    Inputs::{Concentrated, Huge, Uniform, VeryNegative},
    Storage::{Bshd, PaddedRows},
};

/// The conformance grid: what every engine must pass.
pub const CASES: &[Case] = &[
    // Lengths: below, at and across the tiles.
    Case::new("len-1", 2, 3, 1, 64),
    Case::new("len-17", 2, 3, 17, 64),
    Case::new("len-64", 2, 3, 64, 64),
    Case::new("len-97", 2, 3, 97, 64),
    Case::new("len-320", 1, 2, 320, 64),
    Case::new("len-1025", 1, 2, 1025, 64),
    Case::new("len-4096", 1, 1, 4096, 64),
    Case::new("len-1-causal", 2, 3, 1, 64).causal(BottomRight),
    Case::new("len-17-causal", 2, 3, 17, 64).causal(BottomRight),
    Case::new("len-64-causal", 2, 3, 64, 64).causal(BottomRight),
    Case::new("len-97-causal", 2, 3, 97, 64).causal(BottomRight),
    Case::new("len-320-causal", 1, 2, 320, 64).causal(BottomRight),
    Case::new("len-1025-causal", 1, 2, 1025, 64).causal(BottomRight),
    Case::new("len-4096-causal", 1, 1, 4096, 64).causal(BottomRight),
    // Head sizes that are compiled as they are.
    Case::new("dim-32", 1, 2, 97, 32),
    Case::new("dim-96", 1, 2, 97, 96),
    Case::new("dim-128", 1, 2, 97, 128),
    Case::new("dim-192", 1, 2, 97, 192),
    Case::new("dim-256", 1, 2, 97, 256),
    Case::new("dim-32-causal", 1, 2, 320, 32).causal(BottomRight),
    Case::new("dim-96-causal", 1, 2, 320, 96).causal(BottomRight),
    Case::new("dim-128-causal", 1, 2, 320, 128).causal(BottomRight),
    Case::new("dim-192-causal", 1, 2, 320, 192).causal(BottomRight),
    Case::new("dim-256-causal", 1, 2, 320, 256).causal(BottomRight),
    Case::new("dim-32-len-1025", 1, 1, 1025, 32),
    Case::new("dim-128-len-1025", 1, 1, 1025, 128),
    Case::new("dim-128-len-4096-causal", 1, 1, 4096, 128).causal(BottomRight),
    Case::new("dim-256-len-1025-causal", 1, 1, 1025, 256).causal(BottomRight),
    // Head sizes that run in the next compiled one, with zero columns; 59 is also unaligned.
    Case::new("dim-40", 1, 2, 97, 40),
    Case::new("dim-59", 1, 2, 97, 59),
    Case::new("dim-72", 1, 2, 97, 72),
    Case::new("dim-80", 1, 2, 97, 80),
    Case::new("dim-160", 1, 2, 97, 160),
    Case::new("dim-59-causal", 1, 2, 320, 59).causal(BottomRight),
    Case::new("dim-80-causal", 1, 2, 320, 80).causal(BottomRight),
    Case::new("dim-1", 1, 2, 33, 1),
    Case::new("dim-8", 1, 2, 33, 8),
    // Grouped and multi-query heads.
    Case::new("gqa-8-2", 2, 8, 97, 64).kv_heads(2),
    Case::new("gqa-8-2-causal", 2, 8, 97, 128)
        .kv_heads(2)
        .causal(BottomRight),
    Case::new("mqa-4-1", 2, 4, 97, 64).kv_heads(1),
    Case::new("mqa-4-1-causal", 2, 4, 97, 64)
        .kv_heads(1)
        .causal(BottomRight),
    // Cross-attention, both ways, both alignments.
    Case::new("cross-17-320", 2, 2, 17, 64).keys(320),
    Case::new("cross-320-17", 2, 2, 320, 64).keys(17),
    Case::new("cross-97-1025-bottom-right", 1, 2, 97, 64)
        .keys(1025)
        .causal(BottomRight),
    Case::new("cross-97-1025-top-left", 1, 2, 97, 64)
        .keys(1025)
        .causal(TopLeft),
    Case::new("cross-1-1025-bottom-right", 2, 2, 1, 64)
        .keys(1025)
        .causal(BottomRight),
    Case::new("cross-1-1025-top-left", 2, 2, 1, 64)
        .keys(1025)
        .causal(TopLeft),
    Case::new("square-97-top-left", 1, 2, 97, 64).causal(TopLeft),
    Case::new("cross-320-97-top-left", 1, 2, 320, 64)
        .keys(97)
        .causal(TopLeft),
    // The first rows see no key: O = 0, LSE = -inf.
    Case::new("blind-rows-97-64", 1, 2, 97, 64)
        .keys(64)
        .causal(BottomRight),
    Case::new("blind-rows-320-17", 1, 2, 320, 64)
        .keys(17)
        .causal(BottomRight),
    Case::new("blind-rows-65-1", 2, 2, 65, 128)
        .keys(1)
        .causal(BottomRight),
    Case::new("blind-rows-gqa", 1, 8, 200, 64)
        .kv_heads(2)
        .keys(70)
        .causal(BottomRight),
    // Nothing to do.
    Case::new("no-query", 2, 2, 0, 64).keys(17),
    Case::new("no-key", 2, 2, 17, 64).keys(0),
    Case::new("no-key-causal", 2, 2, 17, 64)
        .keys(0)
        .causal(BottomRight),
    Case::new("no-query-no-key", 2, 2, 0, 64),
    Case::new("no-batch", 0, 2, 17, 64),
    Case::new("no-head", 2, 0, 17, 64),
    Case::new("one-key", 2, 3, 17, 64).keys(1),
    // Values.
    Case::new("uniform-97", 1, 2, 97, 64).inputs(Uniform),
    Case::new("uniform-320-causal", 1, 2, 320, 128)
        .inputs(Uniform)
        .causal(BottomRight),
    Case::new("concentrated-97", 1, 2, 97, 64).inputs(Concentrated),
    Case::new("concentrated-320-causal", 1, 2, 320, 128)
        .inputs(Concentrated)
        .causal(BottomRight),
    Case::new("huge-97-causal", 1, 2, 97, 64)
        .inputs(Huge)
        .causal(BottomRight),
    Case::new("very-negative-97", 1, 2, 97, 64).inputs(VeryNegative),
    Case::new("very-negative-320-causal", 1, 2, 320, 128)
        .inputs(VeryNegative)
        .causal(BottomRight),
    // Scales; the last makes the softmax uniform up to 1e-3.
    Case::new("scale-1", 1, 2, 97, 64).scaled(1.0),
    Case::new("scale-0.1147", 1, 2, 97, 192)
        .scaled(0.1147)
        .causal(BottomRight),
    Case::new("scale-0.001", 1, 2, 97, 64).scaled(0.001),
    // Storage; the padding between rows is NaN.
    Case::new("bshd-97", 2, 3, 97, 64).stored(Bshd),
    Case::new("bshd-320-gqa-causal", 2, 8, 320, 128)
        .kv_heads(2)
        .stored(Bshd)
        .causal(BottomRight),
    Case::new("bshd-80", 2, 3, 97, 80).stored(Bshd),
    Case::new("bshd-59", 2, 3, 97, 59).stored(Bshd),
    Case::new("bshd-cross", 2, 3, 17, 64).keys(97).stored(Bshd),
    Case::new("padded-97", 2, 3, 97, 64).stored(PaddedRows),
    Case::new("padded-320-gqa-causal", 1, 8, 320, 128)
        .kv_heads(2)
        .stored(PaddedRows)
        .causal(BottomRight),
    Case::new("padded-80", 2, 3, 97, 80).stored(PaddedRows),
    Case::new("padded-59", 2, 3, 97, 59).stored(PaddedRows),
];

/// The article's check: 26 combinations of batch, heads, length and mask at D = 64 in f16.
///
/// The article gives the count, the range of lengths, and the uniform and concentrated inputs at N
/// = 320, but not the list; this one has those, every shape of the article's benchmark, and lengths
/// of whole 64-row tiles.
pub const ARTICLE: &[Case] = &[
    Case::new("article-1-64", 1, 1, 64, 64),
    Case::new("article-1-64-causal", 1, 1, 64, 64).causal(BottomRight),
    Case::new("article-1-128", 1, 1, 128, 64),
    Case::new("article-1-128-causal", 1, 1, 128, 64).causal(BottomRight),
    Case::new("article-6-192", 2, 3, 192, 64),
    Case::new("article-6-192-causal", 2, 3, 192, 64).causal(BottomRight),
    Case::new("article-8-256", 2, 4, 256, 64),
    Case::new("article-8-256-causal", 2, 4, 256, 64).causal(BottomRight),
    Case::new("article-1-512", 1, 1, 512, 64),
    Case::new("article-1-512-causal", 1, 1, 512, 64).causal(BottomRight),
    Case::new("article-4-1024", 1, 4, 1024, 64),
    Case::new("article-4-1024-causal", 1, 4, 1024, 64).causal(BottomRight),
    Case::new("article-2-1536", 2, 1, 1536, 64),
    Case::new("article-2-1536-causal", 2, 1, 1536, 64).causal(BottomRight),
    Case::new("article-1-2048", 1, 1, 2048, 64),
    Case::new("article-1-2048-causal", 1, 1, 2048, 64).causal(BottomRight),
    Case::new("article-32-2048", 4, 8, 2048, 64),
    Case::new("article-32-2048-causal", 4, 8, 2048, 64).causal(BottomRight),
    Case::new("article-1-4096", 1, 1, 4096, 64),
    Case::new("article-1-4096-causal", 1, 1, 4096, 64).causal(BottomRight),
    Case::new("article-8-4096", 1, 8, 4096, 64),
    Case::new("article-8-4096-causal", 1, 8, 4096, 64).causal(BottomRight),
    Case::new("article-uniform-320", 1, 2, 320, 64).inputs(Uniform),
    Case::new("article-uniform-320-causal", 1, 2, 320, 64)
        .inputs(Uniform)
        .causal(BottomRight),
    Case::new("article-concentrated-320", 1, 2, 320, 64).inputs(Concentrated),
    Case::new("article-concentrated-320-causal", 1, 2, 320, 64)
        .inputs(Concentrated)
        .causal(BottomRight),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::replay::REPLAY;

    #[test]
    fn names_are_unique() {
        let names: Vec<_> = [CASES, ARTICLE, REPLAY]
            .concat()
            .iter()
            .map(|case| case.name)
            .collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }

    #[test]
    fn heads_divide() {
        for case in [CASES, ARTICLE, REPLAY].concat() {
            assert!(
                case.heads_q == 0 || case.heads_q.is_multiple_of(case.heads_kv),
                "{case}"
            );
        }
    }

    #[test]
    fn the_article_has_26_combinations() {
        assert_eq!(ARTICLE.len(), 26);
        assert!(
            ARTICLE
                .iter()
                .all(|case| case.head_dim == 64 && (64..=4096).contains(&case.seq_q))
        );
    }
}
