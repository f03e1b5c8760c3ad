//! A block's shared memory: bytes, who wrote and read each last, and copies on their way.
//!
//! Order is by clocks (Lamport, Mattern). A warp counts its barriers, block-wide and warp-wide;
//! that count is the time of its accesses. At a block-wide barrier it learns the times of the warps
//! that it met. An access is before another one if its time is known there: in the same warp, an
//! earlier time; in the same lane, always.
//!
//! The records are kept by unit: the kernel's narrowest access of shared memory. Every access that
//! lies right is of whole units, so nothing is lost against records by byte.

#[cfg(test)]
mod tests;

use crate::alu::LANES;
use crate::violation::ViolationKind;

/// Who accesses, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp<'a> {
    pub(crate) warp: usize,
    pub(crate) lane: usize,
    /// Barriers that the warp has passed, plus one: 0 is never.
    pub(crate) time: u32,
    /// The last time of each warp that is known to lie before.
    pub(crate) known: &'a [u32],
}

/// One access of a unit: time and lane. Time 0 is none.
type Access = u32;

/// Several lanes read at one time.
const MANY: u32 = LANES as u32;
const LANE_BITS: u32 = 6;

/// What happened to a unit, but for its reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unit {
    /// The last write; none if the unit was never written.
    write: Access,
    /// The warp of the last write.
    writer: u16,
    /// Copies on their way to it.
    in_flight: u16,
}

/// The shared memory of a block.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
    /// Bytes of a unit, as a power of two.
    unit_log2: u32,
    units: Vec<Unit>,
    /// The last read of each unit, warp by warp.
    readers: Vec<Access>,
    warps: usize,
}

impl Stamp<'_> {
    fn access(self) -> Access {
        self.time << LANE_BITS | self.lane as u32
    }

    /// Makes this the last read of a unit by its warp.
    #[inline]
    fn note(self, reader: &mut Access) {
        let access = self.access();
        let same_time = *reader >> LANE_BITS == self.time;
        *reader = if same_time && *reader != access {
            self.time << LANE_BITS | MANY
        } else {
            access
        };
    }

    /// Whether `earlier`, by `warp`, is before this one. An access that never was is, too.
    fn follows(self, earlier: Access, warp: usize) -> bool {
        let (time, lane) = (earlier >> LANE_BITS, earlier & ((1 << LANE_BITS) - 1));
        if warp == self.warp {
            time < self.time || lane == self.lane as u32
        } else {
            time <= self.known[warp]
        }
    }
}

impl Unit {
    /// Whether a read or write now finds the last write before it, and no copy.
    fn is_settled(self, stamp: Stamp<'_>) -> bool {
        self.in_flight == 0 && stamp.follows(self.write, usize::from(self.writer))
    }
}

fn race(first: &'static str, by: (usize, Access), second: &'static str) -> ViolationKind {
    let (warp, earlier) = by;
    let lane = earlier & ((1 << LANE_BITS) - 1);
    let by = (warp as u32, (lane != MANY).then_some(lane));
    ViolationKind::Race { first, by, second }
}

/// Copies in sizes that the compiler knows, where they are those of most accesses.
fn copy(to: &mut [u8], from: &[u8]) {
    match (to.as_chunks_mut::<4>(), from.as_chunks::<4>()) {
        ((to, []), (from, [])) => {
            for (to, from) in to.iter_mut().zip(from) {
                *to = *from;
            }
        }
        _ => to.copy_from_slice(from),
    }
}

impl SharedMemory {
    /// `bytes` bytes for `warps` warps, never written, whose narrowest access has `unit` bytes: a
    /// power of two.
    pub(crate) fn new(bytes: usize, warps: usize, unit: usize) -> Self {
        let units = bytes.div_ceil(unit);
        Self {
            bytes: vec![0; bytes],
            unit_log2: unit.trailing_zeros(),
            units: vec![Unit::default(); units],
            readers: vec![0; units * warps],
            warps,
        }
    }

    /// The units of `bytes` bytes at `at`.
    fn range(&self, at: usize, bytes: usize) -> std::ops::Range<usize> {
        at >> self.unit_log2..(at + bytes) >> self.unit_log2
    }

    /// Reads the bytes at `at`; what is wrong with that goes to `found`.
    pub(crate) fn read(
        &mut self,
        at: usize,
        data: &mut [u8],
        stamp: Stamp<'_>,
        found: &mut Option<ViolationKind>,
    ) {
        let range = self.range(at, data.len());
        let units = &self.units[range.clone()];
        // Most often one access wrote all of them.
        let settled = |unit: &Unit| unit.write != 0 && unit.is_settled(stamp);
        let alike = match units {
            [a, b, c, d] => a == b && c == d && b == c,
            _ => units.windows(2).all(|pair| pair[0] == pair[1]),
        };
        if !(alike && units.first().is_some_and(settled) || units.iter().all(settled)) {
            *found = units.iter().rev().find_map(|unit| unit.read_fault(stamp));
        }
        let first = self.units.len() * stamp.warp;
        let readers = &mut self.readers[first + range.start..first + range.end];
        // Four units are the most frequent: a loop of known length is one vector.
        let (fours, rest) = readers.as_chunks_mut::<4>();
        for four in fours {
            four.iter_mut().for_each(|reader| stamp.note(reader));
        }
        rest.iter_mut().for_each(|reader| stamp.note(reader));
        copy(data, &self.bytes[at..at + data.len()]);
    }

    /// Writes the bytes at `at`.
    pub(crate) fn write(
        &mut self,
        at: usize,
        data: &[u8],
        stamp: Stamp<'_>,
        found: &mut Option<ViolationKind>,
    ) {
        self.check_order(at, data.len(), stamp, ["write", "write"], found);
        self.put(at, data, stamp);
    }

    /// Starts an asynchronous copy to `bytes` bytes at `at`.
    pub(crate) fn start_copy(
        &mut self,
        at: usize,
        bytes: usize,
        stamp: Stamp<'_>,
        found: &mut Option<ViolationKind>,
    ) {
        self.check_order(at, bytes, stamp, ["copy", "second copy"], found);
        let range = self.range(at, bytes);
        for unit in &mut self.units[range] {
            unit.in_flight = unit.in_flight.saturating_add(1);
        }
    }

    /// Delivers the bytes at `at`: a write by the thread that waited, when it did.
    pub(crate) fn finish_copy(&mut self, at: usize, data: &[u8], stamp: Stamp<'_>) {
        let range = self.range(at, data.len());
        for unit in &mut self.units[range] {
            unit.in_flight = unit.in_flight.saturating_sub(1);
        }
        self.put(at, data, stamp);
    }

    fn put(&mut self, at: usize, data: &[u8], stamp: Stamp<'_>) {
        copy(&mut self.bytes[at..at + data.len()], data);
        let range = self.range(at, data.len());
        for unit in &mut self.units[range] {
            unit.write = stamp.access();
            unit.writer = stamp.warp as u16;
        }
    }

    /// A write must come after the last write and after every read. `names` are what it is called
    /// in a race and on the way of a copy.
    fn check_order(
        &self,
        at: usize,
        bytes: usize,
        stamp: Stamp<'_>,
        names: [&'static str; 2],
        found: &mut Option<ViolationKind>,
    ) {
        let range = self.range(at, bytes);
        let written = self.units[range.clone()]
            .iter()
            .all(|unit| unit.is_settled(stamp));
        let read = (0..self.warps).all(|warp| {
            let first = self.units.len() * warp;
            let readers = &self.readers[first + range.start..first + range.end];
            readers.iter().all(|read| stamp.follows(*read, warp))
        });
        if !(written && read) {
            *found = range
                .rev()
                .find_map(|unit| self.write_fault(unit, stamp, names));
        }
    }

    #[cold]
    fn write_fault(
        &self,
        at: usize,
        stamp: Stamp<'_>,
        [second, in_flight]: [&'static str; 2],
    ) -> Option<ViolationKind> {
        let unit = self.units[at];
        let reads = (0..self.warps)
            .rev()
            .map(|warp| (warp, self.readers[self.units.len() * warp + at]));
        let unordered = |&(warp, earlier): &(usize, Access)| !stamp.follows(earlier, warp);
        let last_read = { reads }.find(unordered);
        let write = (usize::from(unit.writer), unit.write);
        if let Some(by) = last_read {
            Some(race("read", by, second))
        } else if unordered(&write) {
            Some(race("write", write, second))
        } else if unit.in_flight > 0 {
            let access = in_flight;
            Some(ViolationKind::InFlight { access })
        } else {
            None
        }
    }
}

impl Unit {
    #[cold]
    fn read_fault(self, stamp: Stamp<'_>) -> Option<ViolationKind> {
        let writer = usize::from(self.writer);
        if !stamp.follows(self.write, writer) {
            Some(race("write", (writer, self.write), "read"))
        } else if self.in_flight > 0 {
            Some(ViolationKind::InFlight { access: "read" })
        } else if self.write == 0 {
            Some(ViolationKind::UninitializedMemory)
        } else {
            None
        }
    }
}
