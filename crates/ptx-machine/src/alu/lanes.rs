//! A function of values, lane by lane.

use super::{LANES, Lanes};

/// `f` of one source.
pub(super) fn map(sources: &[&Lanes], f: impl Fn(u64) -> u64) -> Lanes {
    let mut result = [0; LANES];
    for (value, a) in result.iter_mut().zip(sources[0]) {
        *value = f(*a);
    }
    result
}

/// `f` of two sources.
pub(super) fn map2(sources: &[&Lanes], f: impl Fn(u64, u64) -> u64) -> Lanes {
    let (a, b) = (sources[0], sources[1]);
    let mut result = [0; LANES];
    for (lane, value) in result.iter_mut().enumerate() {
        *value = f(a[lane], b[lane]);
    }
    result
}

/// `f` of three sources.
pub(super) fn map3(sources: &[&Lanes], f: impl Fn(u64, u64, u64) -> u64) -> Lanes {
    let (a, b, c) = (sources[0], sources[1], sources[2]);
    let mut result = [0; LANES];
    for (lane, value) in result.iter_mut().enumerate() {
        *value = f(a[lane], b[lane], c[lane]);
    }
    result
}

/// `f` of one source in the active lanes only: for functions that are slow.
pub(super) fn map_active(sources: &[&Lanes], active: u32, f: impl Fn(u64) -> u64) -> Lanes {
    let mut result = [0; LANES];
    for (lane, value) in result.iter_mut().enumerate() {
        if active >> lane & 1 == 1 {
            *value = f(sources[0][lane]);
        }
    }
    result
}
