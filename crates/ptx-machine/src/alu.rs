//! Operations that work lane by lane on registers alone.
//!
//! Results are those of the ISA bit for bit, but where it leaves the value open:
//! - the approximations (`ex2.approx`, `rcp.approx`, `div.full`, ...) are computed in f64 and rounded
//!   to nearest, so they are within half a unit in the last place and inside every bound of the ISA;
//! - an integer divided by zero gives all ones, and the dividend as remainder;
//! - a NaN result is the canonical one of the type (`0x7FFFFFFF`, `0x7FFF`), but for f64, whose
//!   payload is the host's.

mod arithmetic;
mod bits;
mod compare;
mod convert;
mod data;
mod double;
mod format;
mod function;
mod integer;
mod lanes;
mod narrow;
mod round;
mod single;
mod sum;

#[cfg(test)]
mod tests;

pub(crate) use sum::{Subnormals, sum};

use crate::module::{Comparison, ScalarType};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A register of a warp: one value a lane, in the low bits. A predicate is 0 or 1.
pub type Lanes = [u64; LANES];

/// Where the shared window starts in the generic address space: the generic address of shared byte
/// `x` is `SHARED_WINDOW + x`.
pub const SHARED_WINDOW: u64 = 1 << 56;

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
    /// `min.relu` and `max.relu` of s32: a negative result becomes 0.
    MinRelu,
    MaxRelu,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    Shr,
    /// `shf.l.clamp` and its kin.
    ShfL {
        wrap: bool,
    },
    ShfR {
        wrap: bool,
    },
    Popc,
    Clz,
    Brev,
    Bfe,
    Bfi,
    Prmt,
    Lop3 {
        table: u8,
    },
    /// `setp`; a third source, combined by the logic, is a predicate.
    Setp {
        comparison: Comparison,
        combine: Option<Logic>,
    },
    Selp,
    /// `cvt` with one source, or two for the packed types (the first is the upper half).
    Cvt,
    /// `cvt` to an integer narrower than its register: the result is extended to `bits`, with its
    /// sign where the type is signed.
    CvtExtended {
        bits: u8,
    },
    /// `cvta` and `cvta.to` of the global space, where both addresses are equal.
    Cvta,
    /// `cvta.shared`: a shared address to a generic one.
    CvtaShared,
    /// `cvta.to.shared`: a generic address to a shared one.
    CvtaToShared,
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
    DivFull,
    DivRn,
    /// Two or four narrow registers (of type `source`) to a wide one (`ty`), the first lowest:
    /// `mov.b32 %r, {%h0, %h1}`.
    Pack,
    /// Element `index` (of type `ty`) of a wide register (`source`): `mov.b32 {%h0, %h1}, %r` is one of these an element.
    Unpack {
        index: u8,
    },
}

/// How `setp` combines its comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum Logic {
    And,
    Or,
    Xor,
    /// The predicate is `!c`.
    AndNot,
    /// The predicate is `!c`.
    OrNot,
    /// The predicate is `!c`.
    XorNot,
}

/// Runs an operation on the lanes of a warp; `sources` has as many entries as it takes. Lanes outside
/// `active` hold anything, and so may the bits of a source above its type.
///
/// # Panics
///
/// On a combination of kind and type that the ISA does not have; the parser lets none through.
pub fn execute(op: &AluOp, sources: &[Lanes], active: u32) -> Lanes {
    let sources: Vec<&Lanes> = sources.iter().collect();
    lanewise(op, &sources, active)
}

/// [`execute`] of sources that lie anywhere.
pub(crate) fn lanewise(op: &AluOp, sources: &[&Lanes], active: u32) -> Lanes {
    use AluKind as K;
    match op.kind {
        K::Mov | K::Cvta | K::CvtaShared | K::CvtaToShared | K::Selp => data::execute(op, sources),
        K::Pack | K::Unpack { .. } => data::execute(op, sources),
        K::Setp {
            comparison,
            combine,
        } => compare::execute(op, comparison, combine, sources),
        K::Cvt | K::CvtExtended { .. } => convert::execute(op, sources),
        K::And | K::Or | K::Xor | K::Not | K::Cnot | K::Shl | K::Shr => bits::execute(op, sources),
        K::ShfL { .. } | K::ShfR { .. } | K::Popc | K::Clz | K::Brev => bits::execute(op, sources),
        K::Bfe | K::Bfi | K::Prmt | K::Lop3 { .. } => bits::execute(op, sources),
        K::Ex2Approx | K::Lg2Approx | K::RcpApprox | K::RcpRn | K::SqrtApprox | K::SqrtRn => {
            function::execute(op, sources, active)
        }
        K::RsqrtApprox | K::SinApprox | K::CosApprox | K::TanhApprox => {
            function::execute(op, sources, active)
        }
        _ => arithmetic::execute(op, sources),
    }
}

/// The end of an operation that the parser does not let through.
#[cold]
fn unknown(op: &AluOp) -> ! {
    panic!("the ISA has no {:?} of {:?}", op.kind, op.ty)
}
