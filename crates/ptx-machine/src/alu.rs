//! Operations that work lane by lane on registers alone.

use crate::module::{Comparison, ScalarType};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A register of a warp: one value a lane, in the low bits. A predicate is 0 or 1.
pub type Lanes = [u64; LANES];

/// How a result is rounded to its type, or to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum Rounding {
    Rn,
    Rz,
    Rm,
    Rp,
    Rni,
    Rzi,
    Rmi,
    Rpi,
}

/// An operation with its types and modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AluOp {
    /// What is computed.
    pub kind: AluKind,
    /// The instruction's type; of the destination, for `cvt`.
    pub ty: ScalarType,
    /// Type of the source where it differs (`cvt`, `mul.wide`'s stays in `ty`).
    pub source: ScalarType,
    /// Rounding, where the instruction names it.
    pub rounding: Option<Rounding>,
    /// `.ftz`: subnormal f32 sources and results are zero.
    pub ftz: bool,
    /// `.sat`: the result is clamped to [0, 1], or to the integer's range.
    pub saturate: bool,
}

/// What an operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum AluKind {
    Mov,
    Add,
    Sub,
    MulLo,
    MulHi,
    MulWide,
    MadLo,
    MadHi,
    MadWide,
    Fma,
    Div,
    Rem,
    Abs,
    Neg,
    Min,
    /// `min.NaN` and `max.NaN` propagate NaN.
    MinNan,
    Max,
    MaxNan,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    Shr,
    /// `shf.l.clamp` and its kin.
    ShfL { wrap: bool },
    ShfR { wrap: bool },
    Popc,
    Clz,
    Brev,
    Bfe,
    Bfi,
    Prmt,
    Lop3 { table: u8 },
    /// `setp`; a third source, combined by the logic, is a predicate.
    Setp { comparison: Comparison, combine: Option<Logic> },
    Selp,
    /// `cvt` with one source, or two for the packed types (the first is the upper half).
    Cvt,
    Cvta,
    Ex2Approx,
    Lg2Approx,
    RcpApprox,
    RcpRn,
    SqrtApprox,
    SqrtRn,
    RsqrtApprox,
    SinApprox,
    CosApprox,
    TanhApprox,
    DivApprox,
    DivRn,
    /// Two or four narrow registers to a wide one: `mov.b32 %r, {%h0, %h1}`.
    Pack,
    /// Element `index` of a wide register: `mov.b32 {%h0, %h1}, %r` is one of these an element.
    Unpack { index: u8 },
}

/// How `setp` combines its comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum Logic {
    And,
    Or,
    Xor,
}
