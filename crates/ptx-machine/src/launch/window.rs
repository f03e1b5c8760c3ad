//! The shared window of a block: where each symbol lies, and which addresses are the block's.
//!
//! A symbol lies at an odd multiple of its alignment: it has the alignment that it asks for, and by
//! no luck a wider one. The block's addresses begin with its first symbol, behind the bytes that the
//! system keeps.

#[cfg(test)]
mod tests;

use crate::module::SharedSymbol;

/// Bytes at the start of a block's shared memory that the system keeps, from compute capability 8.0
/// up (CUDA C++ Programming Guide, shared memory of compute capability 8.x).
const RESERVED_BYTES: u64 = 1024;

/// Addresses of the shared space.
#[derive(Debug)]
pub(crate) struct Window {
    /// Where each symbol starts.
    pub(crate) symbols: Vec<u64>,
    /// Where the first of them starts.
    start: u64,
    /// Bytes from there to the end.
    bytes: u64,
}

impl Window {
    /// Static symbols one after another, then `dynamic_bytes` bytes, which all unsized symbols name.
    pub(super) fn new(symbols: &[SharedSymbol], dynamic_bytes: usize) -> Self {
        let mut end = RESERVED_BYTES;
        let places: Vec<Option<u64>> = symbols
            .iter()
            .map(|symbol| {
                symbol.bytes.map(|bytes| {
                    let place = odd_multiple(end, symbol.align);
                    end = place + u64::from(bytes);
                    place
                })
            })
            .collect();
        let unsized_symbols = symbols.iter().filter(|symbol| symbol.bytes.is_none());
        let align = unsized_symbols.map(|symbol| symbol.align).max();
        let dynamic = align.map_or(end, |align| odd_multiple(end, align));
        if dynamic_bytes > 0 {
            end = dynamic + dynamic_bytes as u64;
        }
        let places = places.into_iter().map(|place| place.unwrap_or(dynamic));
        let symbols: Vec<u64> = places.collect();
        let start = symbols.iter().copied().min().unwrap_or(RESERVED_BYTES);
        Self {
            symbols,
            start,
            bytes: end.saturating_sub(start),
        }
    }

    /// The first address behind the window.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Whether `bytes` bytes at `address` are all in it.
    #[inline]
    pub(crate) fn holds(&self, address: u64, bytes: usize) -> bool {
        // What lies before the start wraps around, to behind every end.
        let offset = address.wrapping_sub(self.start);
        let end = offset.checked_add(bytes as u64);
        end.is_some_and(|end| end <= self.bytes)
    }
}

/// The least odd multiple of `align` from `from` up.
fn odd_multiple(from: u64, align: u32) -> u64 {
    let align = u64::from(align);
    (from.div_ceil(align) | 1) * align
}
