//! A warp: registers, the lanes that run, and where those that parted meet again.

use crate::alu::{LANES, Lanes};
use crate::module::{Guard, Kernel, RegisterId};

/// Every lane.
pub(crate) const ALL: u32 = u32::MAX;

/// Lanes at one place in the code.
#[derive(Clone, Copy, Debug)]
struct Frame {
    next: usize,
    mask: u32,
    /// Where these lanes meet those of the frame below.
    meeting: usize,
}

/// What a warp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    /// At a barrier, with the number of threads that it is for.
    Waiting {
        barrier: u32,
        threads: u32,
    },
    Done,
}

/// An asynchronous copy on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) lane: usize,
    /// The lane's group that it belongs to.
    pub(crate) group: u32,
    pub(crate) to: usize,
    pub(crate) from: u64,
    pub(crate) bytes: usize,
    /// Bytes read; the others become zero.
    pub(crate) source_bytes: usize,
    /// The instruction.
    pub(crate) at: usize,
}

/// A warp of a block.
#[derive(Debug)]
pub(crate) struct Warp {
    pub(crate) index: usize,
    pub(crate) state: State,
    /// Instructions so far.
    pub(crate) issued: u64,
    /// Barriers passed, plus one.
    pub(crate) time: u32,
    /// The last time of each warp that lies before.
    pub(crate) known: Vec<u32>,
    pub(crate) copies: Vec<Copy>,
    /// Groups that each lane has committed.
    pub(crate) groups: [u32; LANES],
    registers: Vec<Lanes>,
    /// Lanes in which a register was set.
    defined: Vec<u32>,
    frames: Vec<Frame>,
}

impl Warp {
    /// A warp of `threads` threads at the kernel's start.
    pub(crate) fn new(kernel: &Kernel, index: usize, threads: usize, warps: usize) -> Self {
        let mask = if threads >= LANES {
            ALL
        } else {
            (1 << threads) - 1
        };
        let meeting = usize::MAX;
        Self {
            index,
            state: State::Running,
            issued: 0,
            time: 1,
            known: vec![0; warps],
            copies: Vec::new(),
            groups: [0; LANES],
            registers: vec![[0; LANES]; kernel.registers.len()],
            defined: vec![0; kernel.registers.len()],
            frames: vec![Frame {
                next: 0,
                mask,
                meeting,
            }],
        }
    }

    /// The next instruction and the lanes at it; the lanes that have arrived where they meet others
    /// join them first.
    pub(crate) fn fetch(&mut self) -> Option<(usize, u32)> {
        while let Some(frame) = self.frames.last() {
            if frame.mask != 0 && frame.next != frame.meeting {
                return Some((frame.next, frame.mask));
            }
            self.frames.pop();
        }
        None
    }

    /// Lanes that have not ended.
    pub(crate) fn live(&self) -> u32 {
        self.frames.iter().fold(0, |all, frame| all | frame.mask)
    }

    pub(crate) fn advance(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
    }

    /// Sends the lanes of `taken` to `target`, and the others on.
    pub(crate) fn branch(&mut self, taken: u32, target: usize, meeting: usize) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        let others = frame.mask & !taken;
        if others == 0 {
            frame.next = target;
            return;
        }
        let next = frame.next + 1;
        if taken == 0 {
            frame.next = next;
            return;
        }
        frame.next = meeting;
        // A frame that is where it meets the one below is left when it is fetched.
        for (mask, next) in [(others, next), (taken, target)] {
            self.frames.push(Frame {
                next,
                mask,
                meeting,
            });
        }
    }

    /// Ends the lanes of `mask`; the others go on.
    pub(crate) fn end(&mut self, mask: u32) {
        self.advance();
        for frame in &mut self.frames {
            frame.mask &= !mask;
        }
    }

    /// Lanes of `mask` where the guard holds. `Err` has a lane where its predicate was never set.
    pub(crate) fn guarded(&self, guard: Option<Guard>, mask: u32) -> Result<u32, u32> {
        let Some(Guard { predicate, negated }) = guard else {
            return Ok(mask);
        };
        let undefined = mask & !self.defined[predicate.0 as usize];
        if undefined != 0 {
            return Err(undefined.trailing_zeros());
        }
        let lanes = &self.registers[predicate.0 as usize];
        Ok(mask & (bits(lanes) ^ if negated { ALL } else { 0 }))
    }

    /// A register.
    pub(crate) fn register(&self, register: RegisterId) -> &Lanes {
        &self.registers[register.0 as usize]
    }

    /// The lanes of `mask` where a register was never set.
    pub(crate) fn undefined(&self, register: RegisterId, mask: u32) -> u32 {
        mask & !self.defined[register.0 as usize]
    }

    /// Sets a register in the lanes of `mask`.
    pub(crate) fn set(&mut self, kernel: &Kernel, register: RegisterId, mask: u32, lanes: &Lanes) {
        let at = register.0 as usize;
        let width = u64::MAX >> (64 - kernel.registers[at].class.bits());
        self.defined[at] |= mask;
        let pairs = self.registers[at].iter_mut().zip(lanes);
        if mask == ALL {
            pairs.for_each(|(old, new)| *old = new & width);
            return;
        }
        for (lane, (old, new)) in pairs.enumerate() {
            if mask >> lane & 1 == 1 {
                *old = new & width;
            }
        }
    }
}

/// A predicate as a mask.
pub(crate) fn bits(lanes: &Lanes) -> u32 {
    let bit = |(lane, value): (usize, &u64)| ((value & 1) as u32) << lane;
    lanes.iter().enumerate().map(bit).sum()
}

/// The lanes in `mask`, from the lowest.
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        let found = (mask != 0).then_some(lane);
        mask &= mask.wrapping_sub(1);
        found
    })
}
