//! Register to global: rows of an accumulator leave in 16-byte stores, without shared memory.
//!
//! Of an atom's row, 16 bytes of rounded elements, each of four lanes has one word: no view of the registers is a
//! 16-byte store (claim E1). But four lanes have the rows of four atoms, 16 words: transposed, lane q has all
//! of atom q's row. Two rounds of exchange do that, each of half of the words. Four lanes then store 64
//! neighbouring bytes, whole sectors of memory.

use crate::copy::atom::{Registers4, shuffle_xor_bits};
use cubecl::prelude::*;

/// Atoms whose rows four lanes exchange.
pub(crate) const GROUP: usize = 4;

/// Lane q's word k of the result is what lane k of its four has as word q. `quarter` is q.
#[cube]
pub(crate) fn transpose(words: Registers4, quarter: u32) -> Registers4 {
    let odd = quarter % 2 == 1;
    let low = exchange(words.x, words.y, odd, 1u32);
    let high = exchange(words.z, words.w, odd, 1u32);
    let upper = quarter >= 2;
    let even_words = exchange(low.first, high.first, upper, 2u32);
    let odd_words = exchange(low.second, high.second, upper, 2u32);
    Registers4 {
        x: even_words.first,
        y: odd_words.first,
        z: even_words.second,
        w: odd_words.second,
    }
}

/// Two words of a lane.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Words {
    first: u32,
    second: u32,
}

/// Transposes 2 x 2 words of two lanes whose numbers differ by `mask`; `is_second` is the lane's own place.
#[cube]
fn exchange(first: u32, second: u32, is_second: bool, #[comptime] mask: u32) -> Words {
    let received = shuffle_xor_bits(select(is_second, first, second), mask);
    Words {
        first: select(is_second, received, first),
        second: select(is_second, second, received),
    }
}
