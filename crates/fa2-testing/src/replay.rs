//! Published bug reports of other implementations whose forward input this project covers, as
//! cases.
//!
//! The names are the ids of `docs/cases.md`; a suffix tells variants of one report apart. Not
//! here: varlen, windows, paged caches, and reports on masks, biases, softcap and bad arguments,
//! which need the op's own arguments and are replayed in the tests of `burn-fa2`.

use crate::case::{
    Case,
    Causal::BottomRight,
    Inputs::{Concentrated, Huge, VeryNegative},
    Storage::Bshd,
};

/// The replayed reports.
pub const REPLAY: &[Case] = &[
    // One token: the softmax of one key is 1, so O = V.
    Case::new("MASK-02", 1, 1, 1, 16).inputs(Concentrated),
    Case::new("MASK-05", 1, 2, 40, 64)
        .keys(8)
        .causal(BottomRight),
    Case::new("MASK-15", 1, 14, 88, 64)
        .kv_heads(2)
        .keys(448)
        .causal(BottomRight)
        .inputs(VeryNegative),
    Case::new("MASK-17", 2, 4, 5, 64)
        .keys(1)
        .causal(BottomRight),
    Case::new("MASK-18", 1, 1, 704, 64)
        .causal(BottomRight)
        .inputs(VeryNegative),
    Case::new("MASK-22", 1, 2, 256, 64).inputs(Huge),
    Case::new("MASK-23", 1, 1, 1024, 128)
        .causal(BottomRight)
        .inputs(Concentrated),
    Case::new("BIG-01", 8300, 16, 1, 128),
    Case::new("BIG-02", 12_000, 2, 4, 64),
    Case::new("BIG-03", 2, 4, 729, 72)
        .stored(Bshd)
        .note("batch 1600 and 16 heads in the report"),
    Case::new("BIG-04", 1, 2, 2048, 256)
        .stored(Bshd)
        .note("batch 768 and 8 heads in the report"),
    Case::new("BIG-12", 65536, 1, 16, 80),
    Case::new("EMPTY-06", 0, 10, 3952, 64).keys(16).stored(Bshd),
    Case::new("EMPTY-07", 2, 3, 5, 64).keys(0).stored(Bshd),
    Case::new("EMPTY-07-causal", 2, 3, 5, 64)
        .keys(0)
        .stored(Bshd)
        .causal(BottomRight),
    // The head stride of a single K/V head is free: its size-1 axis is never stepped over.
    Case::new("STRIDE-06", 2, 8, 97, 64)
        .kv_heads(1)
        .stored(Bshd),
    Case::new("HDIM-03-63", 1, 2, 97, 63),
    Case::new("HDIM-03-66", 1, 2, 97, 66),
    Case::new("HDIM-05", 3, 2, 2048, 128),
    Case::new("HDIM-10", 1, 2, 4096, 63).note("batch 2 and 32 heads in the report"),
    Case::new("CAUSAL-02", 1, 2, 16, 64),
    Case::new("CAUSAL-02-causal", 1, 2, 16, 64).causal(BottomRight),
    Case::new("CAUSAL-03", 1, 2, 100, 64)
        .keys(83)
        .causal(BottomRight),
    Case::new("ACC-02", 4, 8, 10, 64).causal(BottomRight),
    Case::new("DET-04", 30, 1, 2048, 128)
        .keys(128)
        .inputs(Concentrated)
        .note("batch 300 in the report"),
];
