//! What the kernel computes of a layout and of a swizzle is the layout and the swizzle.

use super::{evaluate, swizzled};
use cute_layout::{Layout, Swizzle};
use proptest::prelude::*;

proptest! {
    #[test]
    fn evaluation_of_a_layout_is_the_layout(
        modes in prop::collection::vec((1_usize..=8, 0_usize..=4096), 2..=4),
        index in any::<prop::sample::Index>(),
    ) {
        let layout = Layout::from_modes(modes.into_iter().map(|(s, d)| Layout::new(s, d)));
        let index = index.index(layout.size());
        prop_assert_eq!(evaluate(index as u32, layout.clone()) as usize, layout.nth(index));
    }

    #[test]
    fn evaluation_of_a_swizzle_is_the_swizzle(
        bits in 0_u32..=4,
        base in 0_u32..=4,
        more in 0_u32..=3,
        offset in 0_u32..1 << 20,
    ) {
        let swizzle = Swizzle::new(bits, base, bits + more);
        prop_assert_eq!(swizzled(offset, swizzle) as usize, swizzle.apply(offset as usize));
    }
}
