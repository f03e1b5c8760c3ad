//! Random layouts for the laws.
#![allow(dead_code, reason = "each test file draws from some of these")]

use cute_layout::{IntTuple, Layout};
use proptest::prelude::{Just, Strategy, prop};

/// Any layout of up to four modes in any nesting: overlaps, gaps and strides of 0 included.
pub(crate) fn layouts() -> impl Strategy<Value = Layout> {
    let modes = prop::collection::vec((1_usize..=6, 0_usize..=20), 1..=4);
    (modes, 0_usize..4).prop_map(|(modes, cut)| nested(&modes, cut))
}

/// Layouts whose modes tile their image: a compact layout with the modes shuffled and some of them
/// left out.
pub(crate) fn injective_layouts() -> impl Strategy<Value = Layout> {
    let extents = prop::collection::vec((1_usize..=4, prop::bool::ANY), 1..=5);
    (extents, 0_usize..4)
        .prop_map(|(extents, cut)| {
            let mut step = 1;
            let mut modes = Vec::new();
            for (extent, kept) in extents {
                if kept {
                    modes.push((extent, step));
                }
                step *= extent;
            }
            (modes, cut)
        })
        .prop_flat_map(|(modes, cut)| (Just(modes).prop_shuffle(), Just(cut)))
        .prop_map(|(modes, cut)| nested(&modes, cut))
}

/// A compact layout with the modes shuffled: a bijection onto `0..size`.
pub(crate) fn bijections() -> impl Strategy<Value = Layout> {
    (prop::collection::vec(1_usize..=4, 1..=5), 0_usize..4)
        .prop_map(|(extents, cut)| (Layout::compact(tuple(&extents)).modes(), cut))
        .prop_flat_map(|(modes, cut)| (Just(modes).prop_shuffle(), Just(cut)))
        .prop_map(|(modes, cut)| nested(&modes, cut))
}

/// The modes as a layout, those before `cut` gathered in a mode of their own.
fn nested(modes: &[(usize, usize)], cut: usize) -> Layout {
    let side = |modes: &[(usize, usize)], pick: fn(&(usize, usize)) -> usize| {
        tuple(&modes.iter().map(pick).collect::<Vec<_>>())
    };
    let (first, rest) = modes.split_at(cut.min(modes.len()));
    match (first.is_empty(), rest.is_empty()) {
        (true, true) => Layout::new(1, 0),
        (false, false) => Layout::new(
            (side(first, |m| m.0), side(rest, |m| m.0)),
            (side(first, |m| m.1), side(rest, |m| m.1)),
        ),
        _ => Layout::new(side(modes, |m| m.0), side(modes, |m| m.1)),
    }
}

fn tuple(integers: &[usize]) -> IntTuple {
    IntTuple::Tuple(integers.iter().copied().map(IntTuple::Int).collect())
}
