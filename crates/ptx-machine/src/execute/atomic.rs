//! `atom` and `red`: the lanes in order, and the elements of a vector in order.
//!
//! The ISA leaves open which of several atomics comes first, and a sum of floats depends on it. Here
//! a launch with atomics runs its blocks one by one in the order of their indices (see
//! [`Launch::run`](crate::Launch::run)), the seed decides how the warps of a block take turns, and
//! the lanes of a warp follow one another. So the sum is the same in every run of one seed.

use super::Running;
use super::access::{Access, resolve};
use super::memory::{PADDED_BYTES, POISON, number};
use crate::alu::{LANES, Subnormals, sum};
use crate::block::Block;
use crate::module::{AtomicOp, Op, ScalarType, Space};
use crate::warp::{Warp, lanes_of};

/// Elements of the longest vector.
const MOST_ELEMENTS: usize = 8;

impl Block<'_> {
    pub(super) fn atomic(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Op::Atomic {
            space,
            op,
            ty,
            destinations,
            address,
            sources,
            compare,
        } = op
        else {
            return;
        };
        let size = ty.bits() as usize / 8;
        let bytes = size * sources.len();
        let addresses = self.addresses(warp, *address, running);
        self.measure(*space, &addresses, running, bytes);
        let mut values = [[0; LANES]; MOST_ELEMENTS];
        for (value, source) in values.iter_mut().zip(sources) {
            *value = self.value(warp, *source, running.active, running.at);
        }
        let compare = compare.map(|compare| self.value(warp, compare, running.active, running.at));
        let mut old = [[POISON; LANES]; MOST_ELEMENTS];
        for lane in lanes_of(running.active) {
            let (lies_in, _) = resolve(*space, addresses[lane]);
            let access = Access {
                at: running.at,
                lane,
                space: *space,
                address: addresses[lane],
            };
            // In global memory the hardware flushes subnormal f32, and keeps them in shared memory.
            let subnormals = match lies_in {
                Space::Shared => Subnormals::Keep,
                _ => Subnormals::Flush,
            };
            let mut data = [0; PADDED_BYTES];
            if !self.read(warp, access, &mut data[..bytes]) {
                continue;
            }
            let compare = compare.map(|compare| compare[lane]);
            for (part, (value, old)) in values.iter().zip(&mut old).take(sources.len()).enumerate()
            {
                // A window of `put` would reach into the next element's old value.
                let before = number(&data, part * size, *ty);
                let after = match op {
                    AtomicOp::Add => sum(*ty, before, value[lane], subnormals),
                    _ => None,
                };
                let after =
                    after.unwrap_or_else(|| combine(*op, *ty, before, value[lane], compare));
                data[part * size..][..size].copy_from_slice(&after.to_le_bytes()[..size]);
                old[lane] = before;
            }
            self.write(warp, access, &data[..bytes]);
        }
        for (destination, value) in destinations.iter().zip(&old) {
            warp.set(self.setup.kernel, *destination, running.active, value);
        }
    }
}

/// What integers become.
fn combine(op: AtomicOp, ty: ScalarType, old: u64, value: u64, compare: Option<u64>) -> u64 {
    let mask = u64::MAX >> (64 - ty.bits());
    let signed = |bits: u64| {
        let above = 64 - ty.bits();
        (bits << above) as i64 >> above
    };
    let (old, value) = (old & mask, value & mask);
    let least = match ty.is_signed() {
        true => signed(old) <= signed(value),
        false => old <= value,
    };
    match op {
        AtomicOp::Add => old.wrapping_add(value) & mask,
        AtomicOp::Min => {
            if least {
                old
            } else {
                value
            }
        }
        AtomicOp::Max => {
            if least {
                value
            } else {
                old
            }
        }
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::Exchange => value,
        AtomicOp::CompareAndSwap if compare.map(|compare| compare & mask) == Some(old) => value,
        AtomicOp::CompareAndSwap => old,
        AtomicOp::Increment => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
    }
}
