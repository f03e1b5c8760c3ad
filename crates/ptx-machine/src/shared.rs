//! A block's shared memory: bytes, who wrote and read each last, and copies on their way.
//!
//! Order is by clocks (Lamport, Mattern). A warp counts its barriers, block-wide and warp-wide;
//! that count is the time of its accesses. At a block-wide barrier it learns the times of the warps
//! that it met. An access is before another one if its time is known there: in the same warp, an
//! earlier time; in the same lane, always.

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

/// One access of a byte: time and lane. Time 0 is none.
type Access = u32;

/// Several lanes read at one time.
const MANY: u32 = LANES as u32;
const LANE_BITS: u32 = 6;

/// The shared memory of a block.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
    written: Vec<bool>,
    /// Copies on their way to a byte.
    in_flight: Vec<u8>,
    /// The last write: its warp, and the access.
    writer: Vec<(u8, Access)>,
    /// The last read of each warp.
    readers: Vec<Access>,
    warps: usize,
}

fn access(stamp: Stamp<'_>) -> Access {
    stamp.time << LANE_BITS | stamp.lane as u32
}

/// Whether `earlier`, by `warp`, is before `stamp`.
fn is_before(earlier: Access, warp: usize, stamp: Stamp<'_>) -> bool {
    let (time, lane) = (earlier >> LANE_BITS, earlier & ((1 << LANE_BITS) - 1));
    if warp == stamp.warp {
        time < stamp.time || lane == stamp.lane as u32
    } else {
        time <= stamp.known[warp]
    }
}

fn by(earlier: Access, warp: usize) -> (u32, Option<u32>) {
    let lane = earlier & ((1 << LANE_BITS) - 1);
    (warp as u32, (lane != MANY).then_some(lane))
}

impl SharedMemory {
    pub(crate) fn new(bytes: usize, warps: usize) -> Self {
        Self {
            bytes: vec![0; bytes],
            written: vec![false; bytes],
            in_flight: vec![0; bytes],
            writer: vec![(0, 0); bytes],
            readers: vec![0; bytes * warps],
            warps,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Reads the byte at `at`; what is wrong with that goes to `found`.
    pub(crate) fn read(
        &mut self,
        at: usize,
        stamp: Stamp<'_>,
        found: &mut Option<ViolationKind>,
    ) -> u8 {
        if self.in_flight[at] > 0 {
            *found = Some(ViolationKind::InFlight { access: "read" });
        } else if !self.written[at] {
            *found = Some(ViolationKind::UninitializedMemory);
        }
        let (warp, write) = self.writer[at];
        if write != 0 && !is_before(write, usize::from(warp), stamp) {
            *found = Some(ViolationKind::Race {
                first: "write",
                by: by(write, usize::from(warp)),
                second: "read",
            });
        }
        let reader = &mut self.readers[at * self.warps + stamp.warp];
        let same_time = *reader >> LANE_BITS == stamp.time;
        *reader = if same_time && *reader != access(stamp) {
            stamp.time << LANE_BITS | MANY
        } else {
            access(stamp)
        };
        self.bytes[at]
    }

    /// Writes the byte at `at`.
    pub(crate) fn write(
        &mut self,
        at: usize,
        byte: u8,
        stamp: Stamp<'_>,
        found: &mut Option<ViolationKind>,
    ) {
        if self.in_flight[at] > 0 {
            *found = Some(ViolationKind::InFlight { access: "write" });
        }
        self.check_order(at, stamp, "write", found);
        self.put(at, byte, stamp);
    }

    /// Starts an asynchronous copy to the byte at `at`.
    pub(crate) fn start_copy(
        &mut self,
        at: usize,
        stamp: Stamp<'_>,
        found: &mut Option<ViolationKind>,
    ) {
        if self.in_flight[at] > 0 {
            let access = "second copy";
            *found = Some(ViolationKind::InFlight { access });
        }
        self.check_order(at, stamp, "copy", found);
        self.in_flight[at] = self.in_flight[at].saturating_add(1);
    }

    /// Delivers the byte at `at`: a write by the thread that waited, when it did.
    pub(crate) fn finish_copy(&mut self, at: usize, byte: u8, stamp: Stamp<'_>) {
        self.in_flight[at] = self.in_flight[at].saturating_sub(1);
        self.put(at, byte, stamp);
    }

    fn put(&mut self, at: usize, byte: u8, stamp: Stamp<'_>) {
        self.bytes[at] = byte;
        self.written[at] = true;
        self.writer[at] = (stamp.warp as u8, access(stamp));
    }

    /// A write must come after the last write and after every read.
    fn check_order(
        &self,
        at: usize,
        stamp: Stamp<'_>,
        second: &'static str,
        found: &mut Option<ViolationKind>,
    ) {
        let (warp, write) = self.writer[at];
        if write != 0 && !is_before(write, usize::from(warp), stamp) {
            let by = by(write, usize::from(warp));
            let first = "write";
            *found = Some(ViolationKind::Race { first, by, second });
        }
        for warp in 0..self.warps {
            let read = self.readers[at * self.warps + warp];
            if read != 0 && !is_before(read, warp, stamp) {
                let by = by(read, warp);
                let first = "read";
                *found = Some(ViolationKind::Race { first, by, second });
            }
        }
    }
}
