//! Source operands and addresses.

use super::RegisterId;

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
        /// Index into [`Kernel::shared`](super::Kernel::shared).
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
    /// Index into [`Kernel::parameters`](super::Kernel::parameters).
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
