//! What an instruction does.

use super::{Address, Operand, RegisterId, ScalarType, Space};

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// Lane by lane, registers to a register.
    Alu {
        /// The operation, with its types and modifiers.
        op: crate::alu::AluOp,
        /// Where the result goes.
        destination: RegisterId,
        /// The sources, as many as the operation takes.
        sources: Vec<Operand>,
    },
    /// `bra`.
    Branch {
        /// Index into [`Kernel::code`](super::Kernel::code).
        target: usize,
        /// `.uni`: every active lane takes it or none.
        uniform: bool,
    },
    /// `ret` and `exit`.
    Return,
    /// `ld`, vector forms included.
    Load {
        /// Where it reads.
        space: Space,
        /// Type of an element.
        ty: ScalarType,
        /// One register an element.
        destinations: Vec<RegisterId>,
        /// The first element.
        address: Address,
    },
    /// `st`, vector forms included.
    Store {
        /// Where it writes.
        space: Space,
        /// Type of an element.
        ty: ScalarType,
        /// One operand an element.
        sources: Vec<Operand>,
        /// The first element.
        address: Address,
    },
    /// `atom` and `red`.
    Atomic {
        /// Where.
        space: Space,
        /// What is done to the old value.
        op: AtomicOp,
        /// Type of an element.
        ty: ScalarType,
        /// The old values; empty for `red`.
        destinations: Vec<RegisterId>,
        /// The first element.
        address: Address,
        /// One operand an element.
        sources: Vec<Operand>,
        /// The value compared with, for `cas`.
        compare: Option<Operand>,
    },
    /// `cp.async` from global to shared memory.
    AsyncCopy {
        /// Address in shared memory.
        destination: Address,
        /// Address in global memory.
        source: Address,
        /// Bytes written: 4, 8 or 16.
        bytes: u32,
        /// Bytes read; the rest of the destination is zeroed. All of them without it.
        source_bytes: Option<Operand>,
    },
    /// `cp.async.commit_group`.
    AsyncCommit,
    /// `cp.async.wait_group`, and `wait_all` as 0 with the uncommitted copies.
    AsyncWait {
        /// Newest groups that may stay in flight.
        pending: u32,
        /// Whether uncommitted copies are waited for too (`wait_all`).
        all: bool,
    },
    /// `bar.sync` and `barrier.sync`.
    Barrier {
        /// Which of the block's 16 barriers.
        id: Operand,
        /// Threads that take part; every thread of the block without it.
        threads: Option<Operand>,
    },
    /// `bar.warp.sync`.
    WarpBarrier {
        /// Lanes that take part.
        mask: Operand,
    },
    /// `membar` and `fence`: ordered already in this machine, where accesses happen one by one.
    Fence,
    /// `shfl.sync`.
    Shuffle {
        /// How the source lane follows from `lane`.
        mode: ShuffleMode,
        /// The value received.
        destination: RegisterId,
        /// Whether the source lane was in range.
        in_range: Option<RegisterId>,
        /// The value given.
        source: Operand,
        /// Lane, distance or mask, by the mode.
        lane: Operand,
        /// Clamp and segment mask, packed as the ISA says.
        clamp: Operand,
        /// Lanes that take part.
        mask: Operand,
    },
    /// `vote.sync`.
    Vote {
        /// What is asked of the lanes.
        mode: VoteMode,
        /// A predicate, or the 32 bits of a ballot.
        destination: RegisterId,
        /// A lane's predicate.
        source: Operand,
        /// Whether a lane votes with the opposite of its predicate.
        negated: bool,
        /// Lanes that take part.
        mask: Operand,
    },
    /// `ldmatrix`, 8x8 matrices of 16-bit elements.
    MatrixLoad {
        /// Whether each matrix is transposed.
        transposed: bool,
        /// One register a matrix: 1, 2 or 4.
        destinations: Vec<RegisterId>,
        /// Address of the row that the lane names.
        address: Address,
    },
    /// `stmatrix`, 8x8 matrices of 16-bit elements.
    MatrixStore {
        /// Whether each matrix is transposed.
        transposed: bool,
        /// One operand a matrix: 1, 2 or 4.
        sources: Vec<Operand>,
        /// Address of the row that the lane names.
        address: Address,
    },
    /// `mma.sync.aligned.m16n8k16.row.col` with f32 accumulators: D = A B + C.
    Mma {
        /// Element type of A and B: [`ScalarType::F16`] or [`ScalarType::Bf16`].
        element: ScalarType,
        /// D.
        d: [RegisterId; 4],
        /// A, row-major.
        a: [Operand; 4],
        /// B, column-major.
        b: [Operand; 2],
        /// C.
        c: [Operand; 4],
    },
}

/// What an atomic operation does to the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
}

/// How `shfl.sync` finds its source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What `vote.sync` asks of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum VoteMode {
    Any,
    All,
    Uniform,
    Ballot,
}
