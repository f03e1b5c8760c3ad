//! `atom` and `red`: one lane after another, since the ISA leaves the order open.

use super::Running;
use super::memory::{POISON, number};
use crate::alu::LANES;
use crate::block::Block;
use crate::module::{AtomicOp, Op, ScalarType};
use crate::warp::{Warp, lanes_of};

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
        let addresses = self.addresses(warp, *address, running);
        self.measure(*space, &addresses, running, size * sources.len());
        let values = self.values(warp, sources, running);
        let compare = compare.map(|compare| self.value(warp, compare, running.active, running.at));
        let mut old = [[POISON; LANES]; 4];
        // One lane after another: the ISA leaves the order open.
        for lane in lanes_of(running.active) {
            for (part, value) in values.iter().take(sources.len()).enumerate() {
                let at = addresses[lane] + (part * size) as u64;
                let Some(read) = self.read(warp, *space, at, size, lane, running.at) else {
                    continue;
                };
                let before = number(&read[..size], *ty);
                let compare = compare.map(|compare| compare[lane]);
                let after = combine(*op, *ty, before, value[lane], compare);
                let data = &after.to_le_bytes()[..size];
                self.write(warp, *space, at, data, lane, running.at);
                old[part][lane] = before;
            }
        }
        for (destination, value) in destinations.iter().zip(&old) {
            warp.set(self.setup.kernel, *destination, running.active, value);
        }
    }
}

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
        AtomicOp::Add if ty == ScalarType::F32 => {
            let sum = f32::from_bits(old as u32) + f32::from_bits(value as u32);
            u64::from(sum.to_bits())
        }
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
