//! `cp.async`: the data arrive at the wait that must have them, and not before.

use super::access::{Gathered, stamp};
use super::{MOST_BYTES, Running};
use crate::block::{Block, Site};
use crate::module::{Op, Space};
use crate::violation::ViolationKind;
use crate::warp::{Copy, Warp, lanes_of};

impl Block<'_> {
    /// Starts the copies of the lanes.
    pub(super) fn start_copies(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Op::AsyncCopy {
            destination,
            source,
            bytes,
            source_bytes,
        } = op
        else {
            return;
        };
        let Running { at, active } = running;
        let size = *bytes as usize;
        let to = self.addresses(warp, *destination, running);
        let from = self.addresses(warp, *source, running);
        let used = source_bytes.map(|used| self.value(warp, used, active, at));
        self.measure(Space::Shared, &to, running, size);
        let mut sources = Gathered::new();
        for lane in lanes_of(active) {
            let site = Site {
                at,
                warp: warp.index,
            };
            let used = used.map_or(size, |used| (used[lane] as usize).min(size));
            let misplaced = self.misplaced(Space::Shared, to[lane], size);
            if let Some(kind) = misplaced {
                self.report(site, Some(lane), Some(to[lane]), kind);
                continue;
            }
            // Bytes that are not read need not exist.
            let mut used = used;
            if used > 0 {
                sources.push(from[lane]);
                let outside = self.misplaced(Space::Global, from[lane], used);
                let misaligned = !from[lane].is_multiple_of(size as u64);
                let kind = match outside {
                    Some(kind @ ViolationKind::OutOfBounds { .. }) => Some(kind),
                    _ if misaligned => Some(ViolationKind::Misaligned { bytes: *bytes }),
                    _ => None,
                };
                if let Some(kind) = kind {
                    self.report(site, Some(lane), Some(from[lane]), kind);
                    used = 0;
                }
            }
            let mut found = None;
            let stamp = stamp(warp, lane);
            self.shared
                .start_copy(to[lane] as usize, size, stamp, &mut found);
            if let Some(kind) = found {
                self.report(site, Some(lane), Some(to[lane]), kind);
            }
            warp.copies.push(Copy {
                lane,
                group: warp.groups[lane],
                to: to[lane] as usize,
                from: from[lane],
                bytes: size,
                source_bytes: used,
                at,
            });
        }
        self.measure_access(Space::Global, sources.all(), at, size);
    }

    /// Delivers the copies of all groups but the newest `pending`, and of uncommitted ones if
    /// `all`.
    pub(super) fn wait(&mut self, warp: &mut Warp, pending: u32, all: bool, running: Running) {
        let mut copies = std::mem::take(&mut warp.copies);
        copies.retain(|copy| {
            let waits = running.active >> copy.lane & 1 == 1;
            let due = all || copy.group + pending < warp.groups[copy.lane];
            if waits && due {
                self.deliver(warp, copy);
            }
            !(waits && due)
        });
        warp.copies = copies;
    }

    fn deliver(&mut self, warp: &Warp, copy: &Copy) {
        let mut data = [0; MOST_BYTES];
        let mut unwritten = false;
        if copy.source_bytes > 0
            && let Some(place) = self.global.place(copy.from, copy.source_bytes)
        {
            unwritten = !self.global.load(place, &mut data[..copy.source_bytes]);
            self.buffers[place.allocation].read += copy.source_bytes as u64;
        }
        if unwritten {
            let site = Site {
                at: copy.at,
                warp: warp.index,
            };
            let kind = ViolationKind::UninitializedMemory;
            self.report(site, Some(copy.lane), Some(copy.from), kind);
        }
        let stamp = stamp(warp, copy.lane);
        self.shared.finish_copy(copy.to, &data[..copy.bytes], stamp);
        self.shared_written += copy.bytes as u64;
    }
}
