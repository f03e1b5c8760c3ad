//! A PTX module after parsing: kernels with their parameters, registers and instructions.
//!
//! Names are resolved: registers, branch targets and shared symbols are indices. Operations that
//! work lane by lane on registers alone are one variant, [`Op::Alu`]; everything that touches
//! memory, other lanes or control flow has a variant of its own.

/// A parsed module.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Module {
    /// Compute capability of `.target`: 80 for `sm_80`.
    pub sm: u32,
    /// The entry functions, in order.
    pub kernels: Vec<Kernel>,
}

/// An entry function.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Threads of a block along x, y, z where `.reqntid` fixes them.
    pub required_threads: Option<[u32; 3]>,
    /// Every declared register.
    pub registers: Vec<Register>,
    /// Shared-memory symbols that the kernel can name, module-wide ones included.
    pub shared: Vec<SharedSymbol>,
    /// The instructions; a branch target is an index into them, and may be one past the end.
    pub code: Vec<Instruction>,
}

/// A parameter of a kernel, at its place in the parameter space.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Distance from the start of the parameter space, in bytes.
    pub offset: u32,
    /// Size, in bytes.
    pub bytes: u32,
    /// Alignment, in bytes.
    pub align: u32,
}

/// A declared register.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Register {
    /// Its name, `%r12`.
    pub name: String,
    /// What it holds.
    pub class: RegisterClass,
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterClass {
    /// One bit.
    Predicate,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

impl RegisterClass {
    /// Its width; a predicate has 1.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Predicate => 1,
            Self::B16 => 16,
            Self::B32 => 32,
            Self::B64 => 64,
        }
    }
}

/// An index into [`Kernel::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterId(pub u32);

/// A shared-memory symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedSymbol {
    /// Its name.
    pub name: String,
    /// Alignment, in bytes.
    pub align: u32,
    /// Size, in bytes; `None` for `.extern .shared x[]`, which is all of the dynamic memory.
    pub bytes: Option<u32>,
}

/// An instruction, with the line it stands on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Instruction {
    /// Line of the text, from 1.
    pub line: u32,
    /// Its name with every suffix, as written: `cp.async.cg.shared.global.L2::128B`.
    pub name: String,
    /// Lanes where the guard does not hold skip the instruction.
    pub guard: Option<Guard>,
    /// What it does.
    pub op: Op,
}

/// `@%p` or `@!%p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub predicate: RegisterId,
    /// Whether the instruction runs where the predicate is false.
    pub negated: bool,
}

/// A scalar type of the ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum ScalarType {
    Pred,
    B8,
    U8,
    S8,
    B16,
    U16,
    S16,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    B32,
    U32,
    S32,
    F32,
    B64,
    U64,
    S64,
    F64,
}

impl ScalarType {
    /// Its width; a predicate has 1.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::B8 | Self::U8 | Self::S8 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 16,
            Self::F16x2 | Self::Bf16x2 | Self::B32 | Self::U32 | Self::S32 | Self::F32 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// Whether it is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// A constant's bits, in the width of the instruction's type.
    Immediate(u64),
    /// A special register.
    Special(Special),
    /// The address of a shared symbol, as an address of the shared space, plus bytes.
    SharedAddress {
        /// Index into [`Kernel::shared`].
        symbol: u32,
        /// Bytes added.
        offset: i64,
    },
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `%tid.x`, `.y`, `.z`.
    ThreadId(Axis),
    /// `%ntid`.
    Threads(Axis),
    /// `%ctaid`.
    BlockId(Axis),
    /// `%nctaid`.
    Blocks(Axis),
    /// `%laneid`.
    Lane,
    /// `%warpid`.
    Warp,
    /// `%lanemask_eq`, and so on.
    LaneMask(Comparison),
    /// `%clock` and `%clock64`: instructions issued by the warp so far.
    Clock,
}

/// A dimension of a grid or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum Axis {
    X,
    Y,
    Z,
}

/// An order between two values; the unordered forms hold where an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// `[base + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where it starts.
    pub base: AddressBase,
    /// Bytes added.
    pub offset: i64,
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// A 32-bit (shared) or 64-bit register, or a constant.
    Operand(Operand),
    /// Index into [`Kernel::parameters`].
    Parameter(u32),
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Shared by the grid.
    Global,
    /// Shared by a block.
    Shared,
    /// The kernel's parameters.
    Parameter,
    /// A generic address: a window of it is the shared memory, the rest is global.
    Generic,
}

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
        /// Index into [`Kernel::code`].
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
