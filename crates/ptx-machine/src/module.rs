//! A PTX module after parsing: kernels with their parameters, registers and instructions.
//!
//! Names are resolved: registers, branch targets and shared symbols are indices. Operations that
//! work lane by lane on registers alone are one variant, [`Op::Alu`]; everything that touches
//! memory, other lanes or control flow has a variant of its own.

mod operand;
mod operation;
mod scalar;

pub use operand::{Address, AddressBase, Axis, Comparison, Operand, Space, Special};
pub use operation::{AtomicOp, Op, ShuffleMode, VoteMode};
pub use scalar::ScalarType;

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
