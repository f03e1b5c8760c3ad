//! What a check found, and where.

use serde::Serialize;
use std::fmt;

/// Something that the kernel must not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// What.
    pub kind: ViolationKind,
    /// The kernel.
    pub kernel: String,
    /// Line of the PTX.
    pub line: u32,
    /// The instruction's name.
    pub instruction: String,
    /// The block: x, y, z.
    pub block: [u32; 3],
    /// The warp in the block.
    pub warp: u32,
    /// The lane, where it is the fault of one.
    pub lane: Option<u32>,
    /// The address, where there is one.
    pub address: Option<u64>,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum ViolationKind {
    /// An access outside every allocation, or of shared memory before its first symbol or behind its end.
    OutOfBounds {
        /// Its size.
        bytes: u32,
    },
    /// An address that is no multiple of the access's size.
    Misaligned {
        /// What it must be a multiple of.
        bytes: u32,
    },
    /// A read of memory that was never written.
    UninitializedMemory,
    /// A read of a register that was never set.
    UndefinedRegister {
        /// Its name.
        name: String,
    },
    /// Two accesses to a byte of shared memory, one of them a write, in no order.
    Race {
        /// The access that came first in this run.
        first: &'static str,
        /// Warp and lane of it; no lane where it was several.
        by: (u32, Option<u32>),
        /// The access that came second.
        second: &'static str,
    },
    /// An access to bytes that an asynchronous copy has not delivered yet.
    InFlight {
        /// What was tried.
        access: &'static str,
    },
    /// An asynchronous copy that nobody waited for before the thread's end.
    LeakedCopy,
    /// A barrier that only some of a warp's live lanes reached.
    DivergentBarrier,
    /// An instruction for all lanes of its mask that only some of them reached.
    MissingLanes {
        /// Lanes that take part.
        expected: u32,
        /// Lanes that came.
        found: u32,
    },
    /// A branch that promised to be uniform and was not.
    DivergentUniformBranch,
    /// Warps that wait at a barrier that can't fill up.
    Deadlock {
        /// The barrier.
        barrier: u32,
    },
    /// More instructions than the launch allows.
    TooLong {
        /// Instructions of the warp.
        limit: u64,
    },
    /// Another schedule of the warps gave other results.
    ScheduleDependent {
        /// The seed that did.
        seed: u64,
        /// The first buffer that differs.
        buffer: String,
        /// The first byte that differs.
        offset: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(
            f,
            "{}, line {} ({}), block ({x}, {y}, {z}), warp {}",
            self.kernel, self.line, self.instruction, self.warp
        )?;
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        if let Some(address) = self.address {
            write!(f, ", address {address:#x}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { bytes } => write!(f, "{bytes} bytes out of bounds"),
            Self::Misaligned { bytes } => write!(f, "address is no multiple of {bytes}"),
            Self::UninitializedMemory => write!(f, "read of memory that was never written"),
            Self::UndefinedRegister { name } => write!(f, "{name} was never set"),
            Self::Race { first, by, second } => {
                write!(f, "{second} races with the {first} by warp {}", by.0)?;
                match by.1 {
                    Some(lane) => write!(f, ", lane {lane}"),
                    None => Ok(()),
                }
            }
            Self::InFlight { access } => {
                write!(f, "{access} of bytes that a copy has not delivered yet")
            }
            Self::LeakedCopy => write!(f, "asynchronous copy without a wait before the end"),
            Self::DivergentBarrier => write!(f, "barrier reached by a part of the warp"),
            Self::MissingLanes { expected, found } => {
                write!(f, "needs lanes {expected:#010x}, and {found:#010x} came")
            }
            Self::DivergentUniformBranch => write!(f, "uniform branch that diverges"),
            Self::Deadlock { barrier } => {
                write!(f, "barrier {barrier} waits for threads that never come")
            }
            Self::TooLong { limit } => write!(f, "more than {limit} instructions in a warp"),
            Self::ScheduleDependent {
                seed,
                buffer,
                offset,
            } => write!(
                f,
                "byte {offset} of {buffer} differs under the schedule of seed {seed}"
            ),
        }
    }
}
