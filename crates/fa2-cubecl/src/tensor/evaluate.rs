//! A comptime layout applied to a run-time index: what is left is shifts, masks and adds.

use cubecl::prelude::*;
use cute_layout::{Layout, Swizzle};

/// `layout(index)` for a linear index, mode by mode.
#[cube]
pub(crate) fn evaluate(index: u32, #[comptime] layout: Layout) -> u32 {
    let modes = comptime!(layout.modes());
    let mut sum = u32::new(0);
    #[unroll]
    for i in 0..comptime!(modes.len()) {
        let shape = comptime!(modes[i].0 as u32);
        let stride = comptime!(modes[i].1 as u32);
        let before = comptime!(modes[..i].iter().map(|mode| mode.0 as u32).product::<u32>());
        sum += ((index / before) % shape) * stride;
    }
    sum
}

/// `swizzle(offset)`.
#[cube]
pub(crate) fn swizzled(offset: u32, #[comptime] swizzle: Swizzle) -> u32 {
    let source = comptime!(((1u32 << swizzle.bits()) - 1) << (swizzle.base() + swizzle.shift()));
    offset ^ ((offset & source) >> comptime!(swizzle.shift()))
}

#[cfg(test)]
mod tests;
