//! Arithmetic on integers and floats, and the functions of one float.

use super::call::{Call, Modifiers};
use crate::{
    alu::{AluKind, Rounding},
    module::ScalarType,
    parse::ParseError,
};

/// Types that take the same instructions and modifiers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Integer,
    Single,
    Double,
    /// f16, bf16 and their packed forms.
    Narrow,
}

fn family(ty: ScalarType) -> Option<Family> {
    use ScalarType as T;
    match ty {
        T::U16 | T::S16 | T::U32 | T::S32 | T::U64 | T::S64 => Some(Family::Integer),
        T::F32 => Some(Family::Single),
        T::F64 => Some(Family::Double),
        T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2 => Some(Family::Narrow),
        _ => None,
    }
}

/// Whether the ISA gives `modifiers` to arithmetic on `ty`, and the machine runs them.
fn admits(ty: ScalarType, modifiers: Modifiers) -> bool {
    use Rounding as R;
    let Modifiers {
        rounding,
        ftz,
        saturate,
    } = modifiers;
    match family(ty) {
        Some(Family::Integer) => rounding.is_none() && !ftz && (!saturate || ty == ScalarType::S32),
        Some(Family::Single) => matches!(rounding, None | Some(R::Rn | R::Rz | R::Rm | R::Rp)),
        Some(Family::Double) => matches!(rounding, None | Some(R::Rn)) && !ftz && !saturate,
        Some(Family::Narrow) => {
            let half = matches!(ty, ScalarType::F16 | ScalarType::F16x2);
            matches!(rounding, None | Some(R::Rn)) && (half || !ftz && !saturate)
        }
        None => false,
    }
}

/// `add`, `sub`, `mul`, `mad`, `fma`, `div`, `rem`, `abs`, `neg`, `min`, `max`.
pub(super) fn translate(mut call: Call<'_, '_>, base: &str) -> Result<(), ParseError> {
    let modifiers = call.modifiers();
    let ty = call.ty()?;
    let family = family(ty).ok_or_else(|| call.unsupported())?;
    let kind = kind(&mut call, base, family).ok_or_else(|| call.unsupported())?;
    let signed = family != Family::Integer || ty.is_signed();
    let fits = match kind {
        AluKind::Abs | AluKind::Neg => signed,
        AluKind::MulWide | AluKind::MadWide => ty.bits() <= 32,
        AluKind::MinRelu | AluKind::MaxRelu => ty == ScalarType::S32,
        _ => true,
    };
    let saturable = match family {
        Family::Integer => matches!(kind, AluKind::Add | AluKind::Sub),
        _ => matches!(
            kind,
            AluKind::Add | AluKind::Sub | AluKind::MulLo | AluKind::Fma
        ),
    };
    let exact = matches!(
        kind,
        AluKind::Abs
            | AluKind::Neg
            | AluKind::Min
            | AluKind::MinNan
            | AluKind::Max
            | AluKind::MaxNan
            | AluKind::MinRelu
            | AluKind::MaxRelu
    );
    let roundable = modifiers.rounding.is_none()
        || !(exact || matches!(kind, AluKind::DivApprox | AluKind::DivFull));
    call.finish(fits && roundable && (saturable || !modifiers.saturate) && admits(ty, modifiers))?;

    let wide = widened(kind, ty);
    let op = modifiers.op(kind, ty, ty);
    let sources = match kind {
        AluKind::Abs | AluKind::Neg => {
            call.count(&[2], "2")?;
            vec![call.source(1, ty)?]
        }
        AluKind::MadLo | AluKind::MadHi | AluKind::MadWide | AluKind::Fma => {
            call.count(&[4], "4")?;
            vec![
                call.source(1, ty)?,
                call.source(2, ty)?,
                call.source(3, wide)?,
            ]
        }
        _ => {
            call.count(&[3], "3")?;
            vec![call.source(1, ty)?, call.source(2, ty)?]
        }
    };
    let destination = call.result(0, wide)?;
    call.emit_alu(op, destination, sources);
    Ok(())
}

/// Type of the result, and of the third source.
fn widened(kind: AluKind, ty: ScalarType) -> ScalarType {
    match (kind, ty) {
        (AluKind::MulWide | AluKind::MadWide, ScalarType::U16) => ScalarType::U32,
        (AluKind::MulWide | AluKind::MadWide, ScalarType::S16) => ScalarType::S32,
        (AluKind::MulWide | AluKind::MadWide, ScalarType::U32) => ScalarType::U64,
        (AluKind::MulWide | AluKind::MadWide, ScalarType::S32) => ScalarType::S64,
        _ => ty,
    }
}

fn kind(call: &mut Call<'_, '_>, base: &str, family: Family) -> Option<AluKind> {
    let suffixes = &mut call.suffixes;
    let float = family != Family::Integer;
    Some(match base {
        "add" => AluKind::Add,
        "sub" => AluKind::Sub,
        "mul" if float => AluKind::MulLo,
        "mul" => suffixes.choose(&[
            ("lo", AluKind::MulLo),
            ("hi", AluKind::MulHi),
            ("wide", AluKind::MulWide),
        ])?,
        "mad" if matches!(family, Family::Single | Family::Double) => AluKind::Fma,
        "mad" if float => return None,
        "mad" => suffixes.choose(&[
            ("lo", AluKind::MadLo),
            ("hi", AluKind::MadHi),
            ("wide", AluKind::MadWide),
        ])?,
        "fma" if float => AluKind::Fma,
        "div" => match family {
            Family::Integer => AluKind::Div,
            Family::Double => AluKind::DivRn,
            Family::Single if suffixes.take("approx") => AluKind::DivApprox,
            Family::Single if suffixes.take("full") => AluKind::DivFull,
            Family::Single => AluKind::DivRn,
            Family::Narrow => return None,
        },
        "rem" if !float => AluKind::Rem,
        "abs" => AluKind::Abs,
        "neg" => AluKind::Neg,
        "min" if float && suffixes.take("NaN") => AluKind::MinNan,
        "min" if !float && suffixes.take("relu") => AluKind::MinRelu,
        "min" => AluKind::Min,
        "max" if float && suffixes.take("NaN") => AluKind::MaxNan,
        "max" if !float && suffixes.take("relu") => AluKind::MaxRelu,
        "max" => AluKind::Max,
        _ => return None,
    })
}

/// `ex2`, `lg2`, `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `tanh`.
pub(super) fn function(mut call: Call<'_, '_>, base: &str) -> Result<(), ParseError> {
    let modifiers = call.modifiers();
    let ty = call.ty()?;
    let approximate = call.suffixes.take("approx");
    let single = ty == ScalarType::F32;
    let narrow = family(ty) == Some(Family::Narrow);
    let kind = match (base, approximate) {
        ("ex2", true) if single || narrow => AluKind::Ex2Approx,
        ("tanh", true) if single || narrow => AluKind::TanhApprox,
        ("lg2", true) if single => AluKind::Lg2Approx,
        ("rcp", true) if single => AluKind::RcpApprox,
        ("sqrt", true) if single => AluKind::SqrtApprox,
        ("rsqrt", true) if single => AluKind::RsqrtApprox,
        ("sin", true) if single => AluKind::SinApprox,
        ("cos", true) if single => AluKind::CosApprox,
        ("rcp", false) if !narrow => AluKind::RcpRn,
        ("sqrt", false) if !narrow => AluKind::SqrtRn,
        _ => return Err(call.unsupported()),
    };
    let rounding = modifiers.rounding.is_some() != approximate;
    // The ISA writes `ex2.approx.ftz.bf16`, although it flushes f32 only elsewhere.
    let flushed = matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2) && modifiers.ftz;
    let tanh_flushed = kind == AluKind::TanhApprox && modifiers.ftz;
    let admitted = admits(
        ty,
        Modifiers {
            ftz: modifiers.ftz && !flushed,
            ..modifiers
        },
    );
    call.finish(rounding && admitted && !modifiers.saturate && !tanh_flushed)?;
    call.count(&[2], "2")?;
    let (destination, source) = (call.result(0, ty)?, call.source(1, ty)?);
    call.emit_alu(modifiers.op(kind, ty, ty), destination, vec![source]);
    Ok(())
}
