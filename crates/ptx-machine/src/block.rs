//! A block: its warps take turns, meet at barriers, and share memory.

use crate::alu::{LANES, Lanes};
use crate::execute::MOST_OPERANDS;
use crate::launch::Setup;
use crate::measure::{BufferMeasures, InstructionMeasures, Measures};
use crate::memory::GlobalMemory;
use crate::module::{Operand, RegisterId};
use crate::operand::Operands;
use crate::shared::SharedMemory;
use crate::violation::{Violation, ViolationKind};
use crate::warp::{State, Warp};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Violations after which a block gives up.
const MOST_VIOLATIONS: usize = 20;
/// Instructions that a warp runs at most before another one's turn, in a random schedule.
const LONGEST_TURN: u32 = 64;

/// Where a fault lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// Index of the instruction.
    pub(crate) at: usize,
    pub(crate) warp: usize,
}

/// A block while it runs.
pub(crate) struct Block<'a> {
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) global: &'a GlobalMemory,
    pub(crate) shared: SharedMemory,
    pub(crate) measures: Vec<InstructionMeasures>,
    pub(crate) buffers: Vec<BufferMeasures>,
    pub(crate) shared_read: u64,
    pub(crate) shared_written: u64,
    /// Room for the sources that are no registers.
    pub(crate) constants: Box<[Lanes; MOST_OPERANDS]>,
    index: [u32; 3],
    violations: Vec<Violation>,
}

impl<'a> Block<'a> {
    /// Runs block `index` to its end.
    pub(crate) fn run(
        setup: &'a Setup<'a>,
        global: &'a GlobalMemory,
        index: [u32; 3],
    ) -> (Measures, Vec<Violation>) {
        let threads = setup.threads();
        let count = threads.div_ceil(LANES);
        let mut block = Self {
            setup,
            global,
            // An index is an address: what lies before the window is never accessed.
            shared: SharedMemory::new(setup.shared_window.end() as usize, count, setup.shared_unit),
            measures: vec![InstructionMeasures::default(); setup.kernel.code.len()],
            buffers: global
                .names()
                .map(|name| BufferMeasures {
                    name: name.to_owned(),
                    ..Default::default()
                })
                .collect(),
            shared_read: 0,
            shared_written: 0,
            constants: Box::new([[0; LANES]; MOST_OPERANDS]),
            index,
            violations: Vec::new(),
        };
        let mut warps: Vec<Warp> = (0..count)
            .map(|warp| Warp::new(setup.kernel, warp, threads - warp * LANES, count))
            .collect();
        block.schedule(&mut warps);
        block.finish(count)
    }

    fn schedule(&mut self, warps: &mut [Warp]) {
        let linear = self.index[0]
            + self.setup.grid[0] * (self.index[1] + self.setup.grid[1] * self.index[2]);
        let mut random = (self.setup.seed != 0)
            .then(|| StdRng::seed_from_u64(self.setup.seed ^ u64::from(linear) << 32));
        loop {
            let ready: Vec<usize> = (0..warps.len())
                .filter(|&warp| warps[warp].state == State::Running)
                .collect();
            if ready.is_empty() {
                if !self.release(warps) {
                    return;
                }
                continue;
            }
            // Seed 0 runs each warp up to its next barrier, in order.
            let (warp, turn) = match &mut random {
                Some(random) => (
                    ready[random.random_range(0..ready.len())],
                    random.random_range(1..=LONGEST_TURN),
                ),
                None => (ready[0], u32::MAX),
            };
            for _ in 0..turn {
                if warps[warp].state != State::Running || !self.step(&mut warps[warp]) {
                    break;
                }
            }
            if self.violations.len() >= MOST_VIOLATIONS {
                return;
            }
            // A named barrier may fill up while others still run.
            self.release_full(warps);
        }
    }

    /// Opens barriers when nobody runs: a full one, or one that only ended threads are missing
    /// from. False where there is none.
    fn release(&mut self, warps: &mut [Warp]) -> bool {
        if self.release_full(warps) {
            return true;
        }
        let waiting = warps.iter().find_map(|warp| match warp.state {
            State::Waiting { barrier, .. } => Some((warp.index, barrier)),
            _ => None,
        });
        if let Some((warp, barrier)) = waiting {
            let at = warps[warp]
                .fetch()
                .map_or(0, |(at, _)| at.saturating_sub(1));
            let site = Site { at, warp };
            self.report(site, None, None, ViolationKind::Deadlock { barrier });
        }
        false
    }

    /// Opens every barrier at which all its threads wait.
    fn release_full(&mut self, warps: &mut [Warp]) -> bool {
        let mut released = false;
        let barriers: Vec<(u32, u32)> = warps
            .iter()
            .filter_map(|warp| match warp.state {
                State::Waiting { barrier, threads } => Some((barrier, threads)),
                _ => None,
            })
            .collect();
        for (barrier, threads) in barriers {
            let here: Vec<usize> = (0..warps.len())
                .filter(|&warp| warps[warp].state == State::Waiting { barrier, threads })
                .collect();
            // A barrier for the whole block is for the threads that have not ended (CUDA C++
            // Programming Guide, compute capability 7.x, on bar.sync).
            let whole = threads as usize >= self.setup.threads();
            let ended = warps
                .iter()
                .filter(|warp| warp.state == State::Done)
                .count();
            let arrived = here.len() + if whole { ended } else { 0 };
            if here.is_empty() || arrived * LANES < threads as usize {
                continue;
            }
            self.meet(warps, &here);
            released = true;
        }
        released
    }

    /// The warps of `here` pass a barrier: what each did before is before what any does after.
    fn meet(&mut self, warps: &mut [Warp], here: &[usize]) {
        let mut known = vec![0; warps.len()];
        for &warp in here {
            for (all, one) in known.iter_mut().zip(&warps[warp].known) {
                *all = (*all).max(*one);
            }
            known[warp] = known[warp].max(warps[warp].time);
        }
        for &warp in here {
            warps[warp].known.clone_from(&known);
            warps[warp].time += 1;
            warps[warp].state = State::Running;
        }
    }

    fn finish(self, warps: usize) -> (Measures, Vec<Violation>) {
        let instructions = self.measures.into_iter().enumerate();
        let measures = Measures {
            instructions: instructions
                .filter(|(_, measures)| measures.executions > 0)
                .map(|(at, measures)| {
                    let instruction = &self.setup.kernel.code[at];
                    let named = InstructionMeasures {
                        line: instruction.line,
                        name: instruction.name.clone(),
                        ..measures
                    };
                    (at, named)
                })
                .collect(),
            buffers: self.buffers,
            shared_read: self.shared_read,
            shared_written: self.shared_written,
            blocks: 1,
            warps: warps as u64,
        };
        (measures, self.violations)
    }

    /// Notes a violation.
    pub(crate) fn report(
        &mut self,
        site: Site,
        lane: Option<usize>,
        address: Option<u64>,
        kind: ViolationKind,
    ) {
        let instruction = &self.setup.kernel.code[site.at];
        self.violations.push(Violation {
            kind,
            kernel: self.setup.kernel.name.clone(),
            line: instruction.line,
            instruction: instruction.name.clone(),
            block: self.index,
            warp: site.warp as u32,
            lane: lane.map(|lane| lane as u32),
            address,
        });
    }

    /// The operand's value in every lane; a register that was never set in one of `mask` is
    /// reported.
    pub(crate) fn value(&mut self, warp: &Warp, operand: Operand, mask: u32, at: usize) -> Lanes {
        self.check_defined(warp, operand, mask, at);
        self.operands().lanes(warp, operand)
    }

    /// Reports a register that was never set in one of the lanes of `mask`.
    pub(crate) fn check_defined(&mut self, warp: &Warp, operand: Operand, mask: u32, at: usize) {
        if let Operand::Register(register) = operand {
            let undefined = warp.undefined(register, mask);
            if undefined != 0 {
                self.report_undefined(warp, register, undefined.trailing_zeros(), at);
            }
        }
    }

    /// What operands are, in this block.
    pub(crate) fn operands(&self) -> Operands<'a> {
        Operands {
            setup: self.setup,
            block: self.index,
        }
    }

    #[cold]
    pub(crate) fn report_undefined(
        &mut self,
        warp: &Warp,
        register: RegisterId,
        lane: u32,
        at: usize,
    ) {
        let name = self.setup.kernel.registers[register.0 as usize]
            .name
            .clone();
        let site = Site {
            at,
            warp: warp.index,
        };
        let kind = ViolationKind::UndefinedRegister { name };
        self.report(site, Some(lane as usize), None, kind);
    }
}
