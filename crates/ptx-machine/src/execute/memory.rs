//! Loads and stores, and what every access of memory goes through.

use super::Running;
use crate::alu::{LANES, Lanes, SHARED_WINDOW};
use crate::block::{Block, Site};
use crate::measure::{sectors, wavefronts};
use crate::module::{Address, AddressBase, Op, Operand, ScalarType, Space};
use crate::shared::Stamp;
use crate::violation::ViolationKind;
use crate::warp::{Warp, lanes_of};

/// What a register gets whose load failed: a NaN in every format.
pub(super) const POISON: u64 = u64::MAX;
/// Bytes of the widest access.
pub(super) const MOST_BYTES: usize = 16;

impl Block<'_> {
    /// Performs a load, a store or an atomic.
    pub(super) fn access(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        match op {
            Op::Load {
                space,
                ty,
                destinations,
                address,
            } => {
                let size = ty.bits() as usize / 8;
                let addresses = self.addresses(warp, *address, running);
                let bytes = size * destinations.len();
                self.measure(*space, &addresses, running, bytes);
                let mut values = [[POISON; LANES]; 4];
                for lane in lanes_of(running.active) {
                    let read = self.read(warp, *space, addresses[lane], bytes, lane, running.at);
                    let Some(read) = read else { continue };
                    for (part, value) in values.iter_mut().take(destinations.len()).enumerate() {
                        value[lane] = number(&read[part * size..(part + 1) * size], *ty);
                    }
                }
                for (destination, value) in destinations.iter().zip(&values) {
                    warp.set(self.setup.kernel, *destination, running.active, value);
                }
            }
            Op::Store {
                space,
                ty,
                sources,
                address,
            } => {
                let size = ty.bits() as usize / 8;
                let addresses = self.addresses(warp, *address, running);
                let bytes = size * sources.len();
                self.measure(*space, &addresses, running, bytes);
                let values = self.values(warp, sources, running);
                for lane in lanes_of(running.active) {
                    let mut data = [0; MOST_BYTES];
                    for (part, value) in values.iter().take(sources.len()).enumerate() {
                        data[part * size..(part + 1) * size]
                            .copy_from_slice(&value[lane].to_le_bytes()[..size]);
                    }
                    let data = &data[..bytes];
                    self.write(warp, *space, addresses[lane], data, lane, running.at);
                }
            }
            Op::Atomic { .. } => self.atomic(warp, op, running),
            _ => {}
        }
    }

    pub(super) fn values(
        &mut self,
        warp: &Warp,
        sources: &[Operand],
        running: Running,
    ) -> [Lanes; 4] {
        let mut values = [[0; LANES]; 4];
        for (value, source) in values.iter_mut().zip(sources) {
            *value = self.value(warp, *source, running.active, running.at);
        }
        values
    }

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

    pub(super) fn measure(
        &mut self,
        space: Space,
        addresses: &Lanes,
        running: Running,
        bytes: usize,
    ) {
        let resolved: Vec<(Space, u64)> = lanes_of(running.active)
            .map(|lane| Self::resolve(space, addresses[lane]))
            .collect();
        for space in [Space::Global, Space::Shared] {
            let here = resolved.iter().filter(|(lies_in, _)| *lies_in == space);
            let lanes: Vec<u64> = here.map(|(_, address)| *address).collect();
            if !lanes.is_empty() {
                self.measure_access(space, &lanes, running.at, bytes);
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

    /// Reads `bytes` bytes for a lane; what is wrong is reported, and gives nothing where there is
    /// nothing to read.
    pub(super) fn read(
        &mut self,
        warp: &Warp,
        space: Space,
        address: u64,
        bytes: usize,
        lane: usize,
        at: usize,
    ) -> Option<[u8; MOST_BYTES]> {
        let (space, address) = Self::resolve(space, address);
        let site = Site {
            at,
            warp: warp.index,
        };
        let mut data = [0; MOST_BYTES];
        let mut found = self.misplaced(space, address, bytes);
        if found.is_none() {
            match space {
                Space::Shared => {
                    let stamp = stamp(warp, lane);
                    for (offset, byte) in data.iter_mut().take(bytes).enumerate() {
                        let at = address as usize + offset;
                        *byte = self.shared.read(at, stamp, &mut found);
                    }
                    self.shared_read += bytes as u64;
                }
                Space::Parameter => {
                    let start = address as usize;
                    data[..bytes].copy_from_slice(&self.setup.parameters[start..start + bytes]);
                }
                Space::Global | Space::Generic => {
                    let place = self.global.place(address, bytes)?;
                    for (offset, byte) in data.iter_mut().take(bytes).enumerate() {
                        match self.global.load(place, offset) {
                            Some(read) => *byte = read,
                            None => found = Some(ViolationKind::UninitializedMemory),
                        }
                    }
                    self.buffers[place.allocation].read += bytes as u64;
                }
            }
        }
        let failed = matches!(
            found,
            Some(
                ViolationKind::OutOfBounds { .. }
                    | ViolationKind::Misaligned { .. }
                    | ViolationKind::UninitializedMemory
            )
        );
        if let Some(kind) = found {
            self.report(site, Some(lane), Some(address), kind);
        }
        (!failed).then_some(data)
    }

    pub(super) fn write(
        &mut self,
        warp: &Warp,
        space: Space,
        address: u64,
        data: &[u8],
        lane: usize,
        at: usize,
    ) {
        let (space, address) = Self::resolve(space, address);
        let site = Site {
            at,
            warp: warp.index,
        };
        let mut found = self.misplaced(space, address, data.len());
        if found.is_none() {
            match space {
                Space::Shared => {
                    let stamp = stamp(warp, lane);
                    for (offset, byte) in data.iter().enumerate() {
                        let at = address as usize + offset;
                        self.shared.write(at, *byte, stamp, &mut found);
                    }
                    self.shared_written += data.len() as u64;
                }
                Space::Global | Space::Generic => {
                    if let Some(place) = self.global.place(address, data.len()) {
                        for (offset, byte) in data.iter().enumerate() {
                            self.global.store(place, offset, *byte);
                        }
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
            self.report(site, Some(lane), Some(address), kind);
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

    /// What is wrong with an access at `address`, whatever is there.
    pub(super) fn misplaced(
        &self,
        space: Space,
        address: u64,
        bytes: usize,
    ) -> Option<ViolationKind> {
        let inside = |length: usize| {
            usize::try_from(address)
                .ok()
                .and_then(|start| start.checked_add(bytes))
                .is_some_and(|end| end <= length)
        };
        let fits = match space {
            Space::Shared => inside(self.shared.len()),
            Space::Parameter => inside(self.setup.parameters.len()),
            Space::Global | Space::Generic => self.global.place(address, bytes).is_some(),
        };
        let bytes = bytes as u32;
        if !fits {
            return Some(ViolationKind::OutOfBounds { bytes });
        }
        (!address.is_multiple_of(u64::from(bytes))).then_some(ViolationKind::Misaligned { bytes })
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

/// Bytes as a register's bits, with the sign where the type has one.
pub(super) fn number(bytes: &[u8], ty: ScalarType) -> u64 {
    let mut all = [0; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(all);
    let above = 64 - ty.bits();
    if ty.is_signed() {
        ((bits << above) as i64 >> above) as u64
    } else {
        bits
    }
}
