//! Operations that work lane by lane on registers alone.

mod bits;
mod convert;
mod float;
mod integer;

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
pub struct AluOp {
    /// What is computed.
    pub kind: AluKind,
    /// The instruction's type; of the destination, for `cvt`.
    pub ty: ScalarType,
    /// Type of the source, for `cvt`; `ty` elsewhere.
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
    /// Also of two or four narrow registers to a wide one, low bits first.
    Mov,
    Add,
    Sub,
    /// Of floating-point numbers too.
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
    /// Like `Min`, but NaN if an operand is.
    MinNan,
    Max,
    /// Like `Max`, but NaN if an operand is.
    MaxNan,
    And,
    Or,
    Xor,
    Not,
    Shl,
    Shr,
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
    /// The table is the fourth source.
    Lop3,
    /// With `combine`, a third source is a predicate.
    Setp {
        comparison: Comparison,
        combine: Option<Logic>,
    },
    Selp,
    /// Of one source, or of two to a packed type: the first is the upper half.
    Cvt,
    Cvta,
    Ex2,
    Lg2,
    Rcp,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tanh,
}

/// How `setp` combines its comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the ISA's")]
pub enum Logic {
    And,
    Or,
    Xor,
}

impl AluOp {
    /// How many sources it takes.
    #[must_use]
    pub fn sources(&self) -> usize {
        match self.kind {
            AluKind::Lop3 | AluKind::Bfi => 4,
            AluKind::MadLo
            | AluKind::MadHi
            | AluKind::MadWide
            | AluKind::Fma
            | AluKind::Bfe
            | AluKind::Prmt
            | AluKind::Selp
            | AluKind::ShfL { .. }
            | AluKind::ShfR { .. } => 3,
            AluKind::Setp { combine, .. } => 2 + usize::from(combine.is_some()),
            AluKind::Cvt if matches!(self.ty, ScalarType::F16x2 | ScalarType::Bf16x2) => 2,
            AluKind::Mov
            | AluKind::Abs
            | AluKind::Neg
            | AluKind::Not
            | AluKind::Popc
            | AluKind::Clz
            | AluKind::Brev
            | AluKind::Cvt
            | AluKind::Cvta
            | AluKind::Ex2
            | AluKind::Lg2
            | AluKind::Rcp
            | AluKind::Sqrt
            | AluKind::Rsqrt
            | AluKind::Sin
            | AluKind::Cos
            | AluKind::Tanh => 1,
            _ => 2,
        }
    }

    /// Whether [`execute`] computes it; everything else is refused when a module is parsed.
    #[must_use]
    pub fn is_supported(&self) -> bool {
        match self.kind {
            AluKind::Cvt => convert::is_supported(self),
            AluKind::Setp { .. } | AluKind::Selp | AluKind::Mov | AluKind::Cvta => true,
            _ if self.ty.is_float() => float::is_supported(self),
            _ => integer::is_supported(self),
        }
    }
}

/// The result of `op`, lane by lane.
///
/// Operations that the ISA leaves approximate are computed in f64 and rounded once: within every
/// bound that the ISA states.
#[must_use]
pub fn execute(op: &AluOp, sources: &[Lanes]) -> Lanes {
    match op.kind {
        AluKind::Mov if sources.len() > 1 => bits::pack(op, sources),
        AluKind::Mov | AluKind::Cvta => sources[0],
        AluKind::Selp => bits::select(sources),
        AluKind::Setp {
            comparison,
            combine,
        } => compare(op, comparison, combine, sources),
        AluKind::Cvt => convert::execute(op, sources),
        _ if op.ty.is_float() => float::execute(op, sources),
        _ => integer::execute(op, sources),
    }
}

fn compare(op: &AluOp, comparison: Comparison, combine: Option<Logic>, sources: &[Lanes]) -> Lanes {
    let (a, b) = (&sources[0], &sources[1]);
    std::array::from_fn(|lane| {
        let ordering = if op.ty.is_float() {
            float::order(op, a[lane], b[lane])
        } else {
            Some(integer::wide(a[lane], op.ty).cmp(&integer::wide(b[lane], op.ty)))
        };
        let holds = u64::from(holds(comparison, ordering));
        match combine {
            None => holds,
            Some(Logic::And) => holds & sources[2][lane],
            Some(Logic::Or) => holds | sources[2][lane],
            Some(Logic::Xor) => holds ^ sources[2][lane],
        }
    })
}

/// Whether `comparison` holds for two values in this order, or in none: one is NaN.
fn holds(comparison: Comparison, ordering: Option<std::cmp::Ordering>) -> bool {
    let Some(ordering) = ordering else {
        return matches!(
            comparison,
            Comparison::Equ
                | Comparison::Neu
                | Comparison::Ltu
                | Comparison::Leu
                | Comparison::Gtu
                | Comparison::Geu
                | Comparison::Nan
        );
    };
    match comparison {
        Comparison::Eq | Comparison::Equ => ordering.is_eq(),
        Comparison::Ne | Comparison::Neu => ordering.is_ne(),
        Comparison::Lt | Comparison::Ltu => ordering.is_lt(),
        Comparison::Le | Comparison::Leu => ordering.is_le(),
        Comparison::Gt | Comparison::Gtu => ordering.is_gt(),
        Comparison::Ge | Comparison::Geu => ordering.is_ge(),
        Comparison::Num => true,
        Comparison::Nan => false,
    }
}

#[cfg(test)]
mod tests;
