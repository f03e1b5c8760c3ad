//! Global memory: allocations far apart, each byte with a mark of whether it was ever written.

use std::sync::atomic::{AtomicU16, Ordering};
use thiserror::Error;

/// Address of the first allocation.
const FIRST: u64 = 1 << 44;
/// Distance of two allocations: no offset that a kernel computes wrongly reaches the next one.
const DISTANCE: u64 = 1 << 40;
/// Set in a byte that was written.
const WRITTEN: u16 = 1 << 8;

/// An address in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer(pub u64);

/// Why memory can't be read from outside.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The range is not inside one allocation.
    #[error("{bytes} bytes at {address:#x} are not inside an allocation")]
    OutOfBounds {
        /// Where the range starts.
        address: u64,
        /// Its length.
        bytes: usize,
    },
    /// A byte in the range was never written.
    #[error("byte {offset} of {name} was never written")]
    Uninitialized {
        /// The allocation.
        name: String,
        /// The first such byte.
        offset: usize,
    },
}

/// A device's memory.
#[derive(Debug, Default)]
pub struct GlobalMemory {
    allocations: Vec<Allocation>,
}

/// A named piece of memory.
#[derive(Debug)]
struct Allocation {
    name: String,
    /// A byte and its mark; atomic, since blocks run on several threads.
    cells: Vec<AtomicU16>,
}

/// A range inside an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) allocation: usize,
    pub(crate) offset: usize,
}

impl GlobalMemory {
    /// Memory without allocations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allocates a copy of `bytes`.
    pub fn allocate(&mut self, name: &str, bytes: &[u8]) -> Pointer {
        self.add(name, bytes.iter().map(|byte| u16::from(*byte) | WRITTEN))
    }

    /// Allocates `bytes` bytes that must be written before they are read.
    pub fn allocate_uninitialized(&mut self, name: &str, bytes: usize) -> Pointer {
        self.add(name, std::iter::repeat_n(0, bytes))
    }

    fn add(&mut self, name: &str, cells: impl Iterator<Item = u16>) -> Pointer {
        let address = FIRST + DISTANCE * self.allocations.len() as u64;
        self.allocations.push(Allocation {
            name: name.to_owned(),
            cells: cells.map(AtomicU16::new).collect(),
        });
        Pointer(address)
    }

    /// Copies `bytes` bytes out.
    ///
    /// # Errors
    /// If they are not inside an allocation, or one of them was never written.
    pub fn read(&self, pointer: Pointer, bytes: usize) -> Result<Vec<u8>, MemoryError> {
        let place = self.range(pointer, bytes)?;
        let allocation = &self.allocations[place.allocation];
        (place.offset..place.offset + bytes)
            .map(|offset| {
                let cell = allocation.cells[offset].load(Ordering::Relaxed);
                if cell & WRITTEN == 0 {
                    let name = allocation.name.clone();
                    return Err(MemoryError::Uninitialized { name, offset });
                }
                Ok(cell as u8)
            })
            .collect()
    }

    /// Copies `bytes` in, as a host does before a launch.
    ///
    /// # Errors
    /// If they don't fit inside an allocation.
    pub fn write(&self, pointer: Pointer, bytes: &[u8]) -> Result<(), MemoryError> {
        let place = self.range(pointer, bytes.len())?;
        for (at, byte) in bytes.iter().enumerate() {
            self.store(place, at, *byte);
        }
        Ok(())
    }

    /// How many of `bytes` bytes were ever written.
    ///
    /// # Errors
    /// If they are not inside an allocation.
    pub fn written(&self, pointer: Pointer, bytes: usize) -> Result<usize, MemoryError> {
        let place = self.range(pointer, bytes)?;
        let written = |at: &usize| self.load(place, *at).is_some();
        Ok((0..bytes).filter(written).count())
    }

    fn range(&self, pointer: Pointer, bytes: usize) -> Result<Place, MemoryError> {
        let address = pointer.0;
        self.place(address, bytes)
            .ok_or(MemoryError::OutOfBounds { address, bytes })
    }

    /// The names of the allocations, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.allocations
            .iter()
            .map(|allocation| allocation.name.as_str())
    }

    /// Every byte with its mark, for comparing runs and starting them over.
    pub(crate) fn snapshot(&self) -> Vec<Vec<u16>> {
        let cells = |allocation: &Allocation| {
            let load = |cell: &AtomicU16| cell.load(Ordering::Relaxed);
            allocation.cells.iter().map(load).collect()
        };
        self.allocations.iter().map(cells).collect()
    }

    pub(crate) fn restore(&self, snapshot: &[Vec<u16>]) {
        for (allocation, cells) in self.allocations.iter().zip(snapshot) {
            for (cell, value) in allocation.cells.iter().zip(cells) {
                cell.store(*value, Ordering::Relaxed);
            }
        }
    }

    /// Where `bytes` bytes at `address` are, if they are inside one allocation.
    pub(crate) fn place(&self, address: u64, bytes: usize) -> Option<Place> {
        let distance = address.checked_sub(FIRST)?;
        let allocation = (distance / DISTANCE) as usize;
        let offset = (distance % DISTANCE) as usize;
        let length = self.allocations.get(allocation)?.cells.len();
        (offset + bytes <= length).then_some(Place { allocation, offset })
    }

    /// Byte `at` of `place`, if it was ever written.
    pub(crate) fn load(&self, place: Place, at: usize) -> Option<u8> {
        let cells = &self.allocations[place.allocation].cells;
        let cell = cells[place.offset + at].load(Ordering::Relaxed);
        (cell & WRITTEN != 0).then_some(cell as u8)
    }

    pub(crate) fn store(&self, place: Place, at: usize, byte: u8) {
        let cells = &self.allocations[place.allocation].cells;
        cells[place.offset + at].store(u16::from(byte) | WRITTEN, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_across_two_allocations_is_in_none() {
        let mut memory = GlobalMemory::new();
        let first = memory.allocate("first", &[1, 2, 3, 4]);
        memory.allocate("second", &[5; 8]);
        assert_eq!(memory.read(first, 4), Ok(vec![1, 2, 3, 4]));
        let error = memory.read(Pointer(first.0 + 1), 4);
        assert!(matches!(
            error,
            Err(MemoryError::OutOfBounds { bytes: 4, .. })
        ));
        assert!(memory.read(Pointer(0), 1).is_err());
    }

    #[test]
    fn what_was_never_written_can_not_be_read() {
        let mut memory = GlobalMemory::new();
        let pointer = memory.allocate_uninitialized("o", 2);
        let place = memory.place(pointer.0, 1).expect("inside");
        memory.store(place, 0, 7);
        let error = memory.read(pointer, 2);
        assert!(matches!(
            error,
            Err(MemoryError::Uninitialized { offset: 1, .. })
        ));
    }
}
