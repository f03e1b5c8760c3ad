//! Global memory: allocations far apart, each byte with a mark of whether it was ever written.

mod cells;

use cells::Cells;
use thiserror::Error;

/// Address of the first allocation.
const FIRST: u64 = 1 << 44;
/// Distance of two allocations: no offset that a kernel computes wrongly reaches the next one.
const DISTANCE: u64 = 1 << 40;

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
    cells: Cells,
}

/// The state of every allocation at one time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(Vec<Vec<u64>>);

impl Snapshot {
    /// The first allocation and byte in it whose value or mark differ.
    pub(crate) fn difference(&self, other: &Self) -> Option<(usize, usize)> {
        let pairs = self.0.iter().zip(&other.0).enumerate();
        pairs
            .filter_map(|(allocation, (ours, theirs))| {
                Some((allocation, cells::difference(ours, theirs)?))
            })
            .next()
    }
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
        let pointer = self.allocate_uninitialized(name, bytes.len());
        if let Some(allocation) = self.allocations.last() {
            allocation.cells.store(0, bytes);
        }
        pointer
    }

    /// Allocates `bytes` bytes that must be written before they are read.
    pub fn allocate_uninitialized(&mut self, name: &str, bytes: usize) -> Pointer {
        let address = FIRST + DISTANCE * self.allocations.len() as u64;
        self.allocations.push(Allocation {
            name: name.to_owned(),
            cells: Cells::new(bytes),
        });
        Pointer(address)
    }

    /// Copies `bytes` bytes out.
    ///
    /// # Errors
    /// If they are not inside an allocation, or one of them was never written.
    pub fn read(&self, pointer: Pointer, bytes: usize) -> Result<Vec<u8>, MemoryError> {
        let place = self.range(pointer, bytes)?;
        let Allocation { name, cells } = &self.allocations[place.allocation];
        if let Some(offset) = cells.first_unwritten(place.offset, bytes) {
            let name = name.clone();
            return Err(MemoryError::Uninitialized { name, offset });
        }
        let mut data = vec![0; bytes];
        cells.load(place.offset, &mut data);
        Ok(data)
    }

    /// Copies `bytes` in, as a host does before a launch.
    ///
    /// # Errors
    /// If they don't fit inside an allocation.
    pub fn write(&self, pointer: Pointer, bytes: &[u8]) -> Result<(), MemoryError> {
        let place = self.range(pointer, bytes.len())?;
        self.store(place, bytes);
        Ok(())
    }

    /// How many of `bytes` bytes were ever written.
    ///
    /// # Errors
    /// If they are not inside an allocation.
    pub fn written(&self, pointer: Pointer, bytes: usize) -> Result<usize, MemoryError> {
        let place = self.range(pointer, bytes)?;
        let cells = &self.allocations[place.allocation].cells;
        Ok(cells.written(place.offset, bytes))
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
    pub(crate) fn snapshot(&self) -> Snapshot {
        let cells = |allocation: &Allocation| allocation.cells.snapshot();
        Snapshot(self.allocations.iter().map(cells).collect())
    }

    pub(crate) fn restore(&self, snapshot: &Snapshot) {
        for (allocation, words) in self.allocations.iter().zip(&snapshot.0) {
            allocation.cells.restore(words);
        }
    }

    /// Where `bytes` bytes at `address` are, if they are inside one allocation.
    pub(crate) fn place(&self, address: u64, bytes: usize) -> Option<Place> {
        let distance = address.checked_sub(FIRST)?;
        let allocation = (distance / DISTANCE) as usize;
        let offset = (distance % DISTANCE) as usize;
        let length = self.allocations.get(allocation)?.cells.bytes();
        (offset + bytes <= length).then_some(Place { allocation, offset })
    }

    /// Reads the bytes at `place` that were ever written; whether all were.
    pub(crate) fn load(&self, place: Place, bytes: &mut [u8]) -> bool {
        self.allocations[place.allocation]
            .cells
            .load(place.offset, bytes)
    }

    pub(crate) fn store(&self, place: Place, bytes: &[u8]) {
        self.allocations[place.allocation]
            .cells
            .store(place.offset, bytes);
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
        memory.store(place, &[7]);
        let error = memory.read(pointer, 2);
        assert!(matches!(
            error,
            Err(MemoryError::Uninitialized { offset: 1, .. })
        ));
    }
}
