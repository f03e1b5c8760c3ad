//! One instruction of one warp.

mod access;
mod async_copy;
mod atomic;
mod lanes;
mod matrix;
mod memory;

use crate::alu::{self, LANES, Lanes};
use crate::block::{Block, Site};
use crate::module::{Op, Operand};
use crate::violation::ViolationKind;
use crate::warp::{ALL, State, Warp, lanes_of};

/// Sources of the operation with the most of them on lanes, and of a product of matrices.
const MOST_SOURCES: usize = 4;
pub(crate) const MOST_OPERANDS: usize = 10;
/// Bytes of the widest access.
pub(crate) const MOST_BYTES: usize = 16;
/// Stands for a source that an operation does not have.
static NOTHING: Lanes = [0; LANES];

/// An instruction while it runs.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    /// Its index.
    pub(crate) at: usize,
    /// Lanes that run it: those at it where its guard holds.
    pub(crate) active: u32,
}

impl Block<'_> {
    /// Runs the warp's next instruction. False where it ended or gave up.
    pub(crate) fn step(&mut self, warp: &mut Warp) -> bool {
        let Some((at, mask)) = warp.fetch() else {
            self.end_of_warp(warp);
            return false;
        };
        let Some(instruction) = self.setup.kernel.code.get(at) else {
            // Behind the last instruction: an implied return.
            warp.end(mask);
            return true;
        };
        let site = Site {
            at,
            warp: warp.index,
        };
        warp.issued += 1;
        if warp.issued > self.setup.limit {
            let limit = self.setup.limit;
            self.report(site, None, None, ViolationKind::TooLong { limit });
            warp.end(warp.live());
            warp.copies.clear();
            return true;
        }
        let active = match warp.guarded(instruction.guard, mask) {
            Ok(active) => active,
            Err(lane) => {
                if let Some(guard) = instruction.guard {
                    self.report_undefined(warp, guard.predicate, lane, at);
                }
                0
            }
        };
        let measures = &mut self.measures[at];
        measures.executions += 1;
        measures.lanes += u64::from(active.count_ones());
        let running = Running { at, active };
        match &instruction.op {
            Op::Branch { target, uniform } => {
                if *uniform && active != 0 && active != mask {
                    self.report(site, None, None, ViolationKind::DivergentUniformBranch);
                }
                warp.branch(active, *target, self.setup.meetings[at]);
                return true;
            }
            Op::Return => {
                warp.end(active);
                return true;
            }
            op if active != 0 => self.perform(warp, op, running),
            _ => {}
        }
        warp.advance();
        true
    }

    fn perform(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Running { at, active } = running;
        match op {
            Op::Alu {
                op,
                destination,
                sources,
            } => {
                for source in sources {
                    self.check_defined(warp, *source, active, at);
                }
                let operands = self.operands();
                let mut values = [&NOTHING; MOST_SOURCES];
                let places = values.iter_mut().zip(&mut *self.constants);
                for ((value, made), source) in places.zip(sources) {
                    *value = operands.borrow(warp, *source, made);
                }
                let result = alu::lanewise(op, &values[..sources.len()], active);
                warp.set(self.setup.kernel, *destination, active, &result);
            }
            Op::Load { .. } => self.load(warp, op, running),
            Op::Store { .. } => self.store(warp, op, running),
            Op::Atomic { .. } => self.atomic(warp, op, running),
            Op::AsyncCopy { .. } => self.start_copies(warp, op, running),
            Op::AsyncCommit => lanes_of(active).for_each(|lane| warp.groups[lane] += 1),
            Op::AsyncWait { pending, all } => self.wait(warp, *pending, *all, running),
            Op::Barrier { id, threads } => self.barrier(warp, *id, *threads, running),
            Op::WarpBarrier { mask } => {
                self.require(warp, Some(*mask), running);
                // A warp has one clock. A barrier of some lanes must not order the others, so it
                // orders nobody: a race may be reported that is none, and none is missed.
                if running.active == warp.live() {
                    warp.time += 1;
                }
            }
            Op::Fence => {}
            Op::Shuffle { .. } => self.shuffle(warp, op, running),
            Op::Vote { .. } => self.vote(warp, op, running),
            Op::MatrixLoad { .. } => self.load_matrices(warp, op, running),
            Op::MatrixStore { .. } => self.store_matrices(warp, op, running),
            Op::Mma { .. } => self.mma(warp, op, running),
            // `step` does these.
            Op::Branch { .. } | Op::Return => {}
        }
    }

    fn barrier(
        &mut self,
        warp: &mut Warp,
        id: Operand,
        threads: Option<Operand>,
        running: Running,
    ) {
        let Running { at, active } = running;
        let site = Site {
            at,
            warp: warp.index,
        };
        if active != warp.live() {
            self.report(site, None, None, ViolationKind::DivergentBarrier);
        }
        let lane = active.trailing_zeros() as usize;
        let barrier = self.value(warp, id, active, at)[lane] as u32;
        let threads = match threads {
            Some(threads) => self.value(warp, threads, active, at)[lane] as u32,
            None => self.setup.threads() as u32,
        };
        warp.state = State::Waiting { barrier, threads };
    }

    /// Reports lanes that should take part and are not here.
    pub(crate) fn require(&mut self, warp: &Warp, mask: Option<Operand>, running: Running) {
        let Running { at, active } = running;
        let expected = match mask {
            Some(mask) => {
                self.value(warp, mask, active, at)[active.trailing_zeros() as usize] as u32
            }
            None => ALL,
        };
        if active != expected {
            let site = Site {
                at,
                warp: warp.index,
            };
            let found = active;
            let kind = ViolationKind::MissingLanes { expected, found };
            self.report(site, None, None, kind);
        }
    }

    fn end_of_warp(&mut self, warp: &mut Warp) {
        warp.state = State::Done;
        if let Some(copy) = warp.copies.first().filter(|copy| copy.bytes > 0) {
            let site = Site {
                at: copy.at,
                warp: warp.index,
            };
            let (lane, address) = (Some(copy.lane), Some(copy.to as u64));
            self.report(site, lane, address, ViolationKind::LeakedCopy);
        }
    }
}
