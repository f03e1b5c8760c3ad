//! Loads and stores.

use super::access::Access;
use super::{MOST_BYTES, Running};
use crate::alu::LANES;
use crate::block::Block;
use crate::module::{Op, ScalarType};
use crate::warp::{Warp, lanes_of};

/// What a register gets whose load failed: a NaN in every format.
pub(super) const POISON: u64 = u64::MAX;
/// Elements of the longest vector.
const MOST_ELEMENTS: usize = 4;
/// Bytes of the widest element: elements are moved in windows of this size, which is a size that the
/// compiler knows.
const WINDOW_BYTES: usize = 8;
/// The widest access, with room for a window at its last element.
pub(super) const PADDED_BYTES: usize = MOST_BYTES + WINDOW_BYTES;

impl Block<'_> {
    pub(super) fn load(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Op::Load {
            space,
            ty,
            destinations,
            address,
        } = op
        else {
            return;
        };
        let Running { at, active } = running;
        let size = ty.bits() as usize / 8;
        let addresses = self.addresses(warp, *address, running);
        let bytes = size * destinations.len();
        self.measure(*space, &addresses, running, bytes);
        let mut values = [[POISON; LANES]; MOST_ELEMENTS];
        let values = &mut values[..destinations.len()];
        for lane in lanes_of(active) {
            let access = Access {
                at,
                lane,
                space: *space,
                address: addresses[lane],
            };
            let mut data = [0; PADDED_BYTES];
            if self.read(warp, access, &mut data[..bytes]) {
                for (part, value) in values.iter_mut().enumerate() {
                    value[lane] = number(&data, part * size, *ty);
                }
            }
        }
        for (destination, value) in destinations.iter().zip(values) {
            warp.set(self.setup.kernel, *destination, active, value);
        }
    }

    pub(super) fn store(&mut self, warp: &Warp, op: &Op, running: Running) {
        let Op::Store {
            space,
            ty,
            sources,
            address,
        } = op
        else {
            return;
        };
        let Running { at, active } = running;
        let size = ty.bits() as usize / 8;
        let addresses = self.addresses(warp, *address, running);
        let bytes = size * sources.len();
        self.measure(*space, &addresses, running, bytes);
        let mut data = [[0; PADDED_BYTES]; LANES];
        for (part, source) in sources.iter().enumerate() {
            let value = self.value(warp, *source, active, at);
            for (data, value) in data.iter_mut().zip(value) {
                put(data, part * size, value);
            }
        }
        for lane in lanes_of(active) {
            let access = Access {
                at,
                lane,
                space: *space,
                address: addresses[lane],
            };
            self.write(warp, access, &data[lane][..bytes]);
        }
    }
}

/// The bytes at `at` as a register's bits, with the sign where the type has one.
pub(super) fn number(data: &[u8; PADDED_BYTES], at: usize, ty: ScalarType) -> u64 {
    let mut window = [0; WINDOW_BYTES];
    window.copy_from_slice(&data[at..at + WINDOW_BYTES]);
    let bits = u64::from_le_bytes(window);
    let above = 64 - ty.bits();
    if ty.is_signed() {
        ((bits << above) as i64 >> above) as u64
    } else {
        bits << above >> above
    }
}

/// Puts the low bytes of `value` at `at`. What else it has lies behind, until the next element
/// replaces it.
pub(super) fn put(data: &mut [u8; PADDED_BYTES], at: usize, value: u64) {
    data[at..at + WINDOW_BYTES].copy_from_slice(&value.to_le_bytes());
}
