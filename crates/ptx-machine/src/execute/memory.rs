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
            let mut data = [0; MOST_BYTES];
            if self.read(warp, access, &mut data[..bytes]) {
                for (part, value) in values.iter_mut().enumerate() {
                    value[lane] = number(&data[part * size..][..size], *ty);
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
        let mut data = [[0; MOST_BYTES]; LANES];
        for (part, source) in sources.iter().enumerate() {
            let value = self.value(warp, *source, active, at);
            for (data, value) in data.iter_mut().zip(value) {
                data[part * size..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
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
