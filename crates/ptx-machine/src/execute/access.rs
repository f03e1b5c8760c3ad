//! What every access of memory goes through: its place, its checks, its measures.

use super::Running;
use crate::alu::{LANES, Lanes, SHARED_WINDOW};
use crate::block::{Block, Site};
use crate::measure::traffic::{sectors, wavefronts};
use crate::module::{Address, AddressBase, Space};
use crate::shared::Stamp;
use crate::violation::ViolationKind;
use crate::warp::{ALL, Warp, lanes_of};

/// A lane's access.
#[derive(Clone, Copy)]
pub(super) struct Access {
    /// Index of the instruction.
    pub(super) at: usize,
    pub(super) lane: usize,
    pub(super) space: Space,
    pub(super) address: u64,
}

/// The addresses of some lanes, one after another.
pub(super) struct Gathered {
    addresses: [u64; LANES],
    count: usize,
}

impl Gathered {
    pub(super) fn new() -> Self {
        Self {
            addresses: [0; LANES],
            count: 0,
        }
    }

    pub(super) fn push(&mut self, address: u64) {
        self.addresses[self.count] = address;
        self.count += 1;
    }

    pub(super) fn all(&self) -> &[u64] {
        &self.addresses[..self.count]
    }
}

impl Block<'_> {
    /// The addresses of the lanes.
    pub(super) fn addresses(&mut self, warp: &Warp, address: Address, running: Running) -> Lanes {
        let base = match address.base {
            AddressBase::Operand(operand) => self.value(warp, operand, running.active, running.at),
            AddressBase::Parameter(parameter) => {
                [u64::from(self.setup.kernel.parameters[parameter as usize].offset); LANES]
            }
        };
        base.map(|base| base.wrapping_add_signed(address.offset))
    }

    /// Counts an access of `bytes` bytes by each lane.
    pub(super) fn measure(
        &mut self,
        space: Space,
        addresses: &Lanes,
        running: Running,
        bytes: usize,
    ) {
        if running.active == ALL && space != Space::Generic {
            self.measure_access(space, addresses, running.at, bytes);
            return;
        }
        let (mut global, mut shared) = (Gathered::new(), Gathered::new());
        for lane in lanes_of(running.active) {
            match resolve(space, addresses[lane]) {
                (Space::Shared, address) => shared.push(address),
                (Space::Global | Space::Generic, address) => global.push(address),
                (Space::Parameter, _) => {}
            }
        }
        for (space, lanes) in [(Space::Global, global), (Space::Shared, shared)] {
            if !lanes.all().is_empty() {
                self.measure_access(space, lanes.all(), running.at, bytes);
            }
        }
    }

    /// Counts an access of `bytes` bytes at each of `addresses`.
    pub(super) fn measure_access(
        &mut self,
        space: Space,
        addresses: &[u64],
        at: usize,
        bytes: usize,
    ) {
        let measures = &mut self.measures[at];
        match space {
            Space::Shared => {
                let (minimum, wavefronts) = wavefronts(addresses, bytes as u64);
                measures.shared_minimum += minimum;
                measures.shared_wavefronts += wavefronts;
            }
            Space::Global | Space::Generic => {
                let (minimum, touched) = sectors(addresses, bytes as u64);
                measures.sectors_minimum += minimum;
                measures.sectors += touched;
            }
            Space::Parameter => {}
        }
    }

    /// Reads `data`'s bytes for a lane. What is wrong is reported; false where there is nothing to
    /// read.
    pub(super) fn read(&mut self, warp: &Warp, access: Access, data: &mut [u8]) -> bool {
        let (space, address) = resolve(access.space, access.address);
        let bytes = data.len();
        let mut found = self.misplaced(space, address, bytes);
        if found.is_none() {
            match space {
                Space::Shared => {
                    let stamp = stamp(warp, access.lane);
                    self.shared.read(address as usize, data, stamp, &mut found);
                    self.shared_read += bytes as u64;
                }
                Space::Parameter => {
                    let start = address as usize;
                    data.copy_from_slice(&self.setup.parameters[start..start + bytes]);
                }
                Space::Global | Space::Generic => {
                    let Some(place) = self.global.place(address, bytes) else {
                        return false;
                    };
                    if !self.global.load(place, data) {
                        found = Some(ViolationKind::UninitializedMemory);
                    }
                    self.buffers[place.allocation].read += bytes as u64;
                }
            }
        }
        let Some(kind) = found else { return true };
        let failed = matches!(
            kind,
            ViolationKind::OutOfBounds { .. }
                | ViolationKind::Misaligned { .. }
                | ViolationKind::UninitializedMemory
        );
        self.report_access(warp, access, address, kind);
        !failed
    }

    /// Writes `data` for a lane. What is wrong is reported.
    pub(super) fn write(&mut self, warp: &Warp, access: Access, data: &[u8]) {
        let (space, address) = resolve(access.space, access.address);
        let mut found = self.misplaced(space, address, data.len());
        if found.is_none() {
            match space {
                Space::Shared => {
                    let stamp = stamp(warp, access.lane);
                    self.shared.write(address as usize, data, stamp, &mut found);
                    self.shared_written += data.len() as u64;
                }
                Space::Global | Space::Generic => {
                    if let Some(place) = self.global.place(address, data.len()) {
                        self.global.store(place, data);
                        self.buffers[place.allocation].written += data.len() as u64;
                    }
                }
                Space::Parameter => {
                    let bytes = data.len() as u32;
                    found = Some(ViolationKind::OutOfBounds { bytes });
                }
            }
        }
        if let Some(kind) = found {
            self.report_access(warp, access, address, kind);
        }
    }

    /// Reports `kind` of an access at `address` of the space that it lies in.
    #[cold]
    pub(super) fn report_access(
        &mut self,
        warp: &Warp,
        access: Access,
        address: u64,
        kind: ViolationKind,
    ) {
        let site = Site {
            at: access.at,
            warp: warp.index,
        };
        self.report(site, Some(access.lane), Some(address), kind);
    }

    /// What is wrong with an access at `address`, whatever is there.
    pub(super) fn misplaced(
        &self,
        space: Space,
        address: u64,
        bytes: usize,
    ) -> Option<ViolationKind> {
        let fits = match space {
            Space::Shared => self.setup.shared_window.holds(address, bytes),
            Space::Parameter => address
                .checked_add(bytes as u64)
                .is_some_and(|end| end <= self.setup.parameters.len() as u64),
            Space::Global | Space::Generic => self.global.place(address, bytes).is_some(),
        };
        let bytes = bytes as u32;
        if !fits {
            return Some(ViolationKind::OutOfBounds { bytes });
        }
        (!is_aligned(address, bytes)).then_some(ViolationKind::Misaligned { bytes })
    }
}

/// Whether an address is a multiple of a size. Most sizes are powers of two, and a mask is much faster
/// than a division.
fn is_aligned(address: u64, bytes: u32) -> bool {
    if bytes.is_power_of_two() {
        address & u64::from(bytes - 1) == 0
    } else {
        address.is_multiple_of(u64::from(bytes))
    }
}

/// A generic address in the space that it lies in.
pub(super) fn resolve(space: Space, address: u64) -> (Space, u64) {
    match (space, address.checked_sub(SHARED_WINDOW)) {
        (Space::Generic, Some(offset)) => (Space::Shared, offset),
        (Space::Generic, None) => (Space::Global, address),
        _ => (space, address),
    }
}

/// An access of a lane, now.
pub(super) fn stamp(warp: &Warp, lane: usize) -> Stamp<'_> {
    Stamp {
        warp: warp.index,
        lane,
        time: warp.time,
        known: &warp.known,
    }
}
