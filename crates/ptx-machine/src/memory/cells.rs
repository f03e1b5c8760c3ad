//! The bytes of an allocation, four to a cell, with their marks.
//!
//! A cell is atomic, since blocks run on several threads. Whole cells are read and written at once;
//! parts of one by an atomic update, so that no neighbor is lost.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a cell.
const CELL: usize = 4;
/// Where the marks start: a byte of ones for each byte that was written.
const MARKS: u32 = 32;
/// All marks of a cell.
const WHOLE: u64 = (u32::MAX as u64) << MARKS;

#[derive(Debug)]
pub(super) struct Cells {
    cells: Vec<AtomicU64>,
    bytes: usize,
}

/// The part of a range that lies in one cell.
struct Part {
    cell: usize,
    /// Bytes of the cell before it.
    skip: usize,
    /// Where it starts in the range, and its length.
    at: usize,
    length: usize,
}

impl Part {
    /// Ones in its bytes' marks.
    fn marks(&self) -> u64 {
        let ones = u64::from(u32::MAX) >> (8 * (CELL - self.length));
        ones << (8 * self.skip) << MARKS
    }
}

/// The range of `length` bytes at `offset`, cell by cell.
fn parts(offset: usize, length: usize) -> impl Iterator<Item = Part> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (cell, skip) = ((offset + at) / CELL, (offset + at) % CELL);
        let part = Part {
            cell,
            skip,
            at,
            length: (CELL - skip).min(length - at),
        };
        at += part.length;
        (part.length > 0).then_some(part)
    })
}

/// The first byte of two snapshots that differs in value or mark.
pub(super) fn difference(ours: &[u64], theirs: &[u64]) -> Option<usize> {
    let mut pairs = ours.iter().zip(theirs);
    let cell = pairs.position(|(a, b)| a != b)?;
    let differs = ours[cell] ^ theirs[cell];
    let either = (differs >> MARKS | differs) as u32;
    Some(cell * CELL + either.trailing_zeros() as usize / 8)
}

impl Cells {
    /// `bytes` bytes that were never written.
    pub(super) fn new(bytes: usize) -> Self {
        let cells = (0..bytes.div_ceil(CELL)).map(|_| AtomicU64::new(0));
        Self {
            cells: cells.collect(),
            bytes,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reads the bytes at `offset` that were ever written; whether all were.
    pub(super) fn load(&self, offset: usize, bytes: &mut [u8]) -> bool {
        let mut all = true;
        if offset.is_multiple_of(CELL) && bytes.len().is_multiple_of(CELL) {
            let cells = &self.cells[offset / CELL..][..bytes.len() / CELL];
            for (cell, bytes) in cells.iter().zip(bytes.as_chunks_mut::<CELL>().0) {
                let value = cell.load(Ordering::Relaxed);
                let marks = (value >> MARKS) as u32;
                all &= marks == u32::MAX;
                *bytes = (value as u32 & marks).to_le_bytes();
            }
            return all;
        }
        for part in parts(offset, bytes.len()) {
            let value = self.cells[part.cell].load(Ordering::Relaxed);
            all &= value & part.marks() == part.marks();
            let written = (value as u32 & (value >> MARKS) as u32).to_le_bytes();
            bytes[part.at..][..part.length].copy_from_slice(&written[part.skip..][..part.length]);
        }
        all
    }

    pub(super) fn store(&self, offset: usize, bytes: &[u8]) {
        if offset.is_multiple_of(CELL) && bytes.len().is_multiple_of(CELL) {
            let cells = &self.cells[offset / CELL..][..bytes.len() / CELL];
            for (cell, bytes) in cells.iter().zip(bytes.as_chunks::<CELL>().0) {
                let value = u64::from(u32::from_le_bytes(*bytes));
                cell.store(WHOLE | value, Ordering::Relaxed);
            }
            return;
        }
        for part in parts(offset, bytes.len()) {
            let mut data = [0; CELL];
            data[part.skip..][..part.length].copy_from_slice(&bytes[part.at..][..part.length]);
            let new = part.marks() | u64::from(u32::from_le_bytes(data));
            let cell = &self.cells[part.cell];
            if part.length == CELL {
                cell.store(new, Ordering::Relaxed);
            } else {
                let replaced = part.marks() | part.marks() >> MARKS;
                let update = |old: u64| Some(old & !replaced | new);
                // It never fails: the update always has a value.
                let _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
            }
        }
    }

    /// The first byte of a range that was never written, from the start of the allocation.
    pub(super) fn first_unwritten(&self, offset: usize, bytes: usize) -> Option<usize> {
        parts(offset, bytes).find_map(|part| {
            let missing = part.marks() & !self.cells[part.cell].load(Ordering::Relaxed);
            let byte = (missing >> MARKS).trailing_zeros() as usize / 8;
            (missing != 0).then_some(part.cell * CELL + byte)
        })
    }

    /// How many bytes of a range were ever written.
    pub(super) fn written(&self, offset: usize, bytes: usize) -> usize {
        let count = |part: Part| {
            let marks = part.marks() & self.cells[part.cell].load(Ordering::Relaxed);
            marks.count_ones() as usize / 8
        };
        parts(offset, bytes).map(count).sum()
    }

    pub(super) fn snapshot(&self) -> Vec<u64> {
        let load = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        self.cells.iter().map(load).collect()
    }

    pub(super) fn restore(&self, snapshot: &[u64]) {
        for (cell, value) in self.cells.iter().zip(snapshot) {
            cell.store(*value, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same as cells, byte by byte.
    #[derive(Debug)]
    struct Plain(Vec<Option<u8>>);

    proptest! {
        #[test]
        fn any_ranges_read_what_was_written(
            writes in prop::collection::vec((0_usize..20, prop::collection::vec(any::<u8>(), 0..12)), 0..12),
            reads in prop::collection::vec((0_usize..20, 0_usize..12), 1..8),
        ) {
            const BYTES: usize = 31;
            let cells = Cells::new(BYTES);
            let mut plain = Plain(vec![None; BYTES]);
            for (offset, bytes) in &writes {
                cells.store(*offset, bytes);
                for (at, byte) in bytes.iter().enumerate() {
                    plain.0[offset + at] = Some(*byte);
                }
            }
            for (offset, length) in reads {
                let expected = &plain.0[offset..offset + length];
                let mut found = vec![0xEE; length];
                let all = cells.load(offset, &mut found);
                prop_assert_eq!(all, expected.iter().all(Option::is_some));
                let values: Vec<u8> = expected.iter().map(|byte| byte.unwrap_or(0)).collect();
                prop_assert_eq!(found, values);
                let first = expected.iter().position(Option::is_none);
                prop_assert_eq!(cells.first_unwritten(offset, length), first.map(|at| offset + at));
                let count = expected.iter().flatten().count();
                prop_assert_eq!(cells.written(offset, length), count);
            }
        }
    }

    /// A mark makes a difference by itself: zero that was written is not what was never written.
    #[test]
    fn snapshots_differ_in_values_and_in_marks() {
        let (ours, theirs) = (Cells::new(8), Cells::new(8));
        assert_eq!(difference(&ours.snapshot(), &theirs.snapshot()), None);
        ours.store(6, &[0]);
        assert_eq!(difference(&ours.snapshot(), &theirs.snapshot()), Some(6));
        theirs.store(6, &[0]);
        theirs.store(5, &[1]);
        assert_eq!(difference(&ours.snapshot(), &theirs.snapshot()), Some(5));
        theirs.restore(&ours.snapshot());
        assert_eq!(difference(&ours.snapshot(), &theirs.snapshot()), None);
    }
}
