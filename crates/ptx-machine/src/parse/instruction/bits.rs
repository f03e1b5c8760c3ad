//! Logic, shifts, bit fields and permutations.

use super::call::{Call, Modifiers};
use crate::{
    alu::AluKind,
    module::{Operand, ScalarType as T},
    parse::{ParseError, literal::Literal, operand::Written},
};

/// The instructions of this file.
pub(super) fn translate(mut call: Call<'_, '_>, base: &str) -> Result<(), ParseError> {
    if base == "lop3" {
        return lop3(call);
    }
    let kind = kind(&mut call, base).ok_or_else(|| call.unsupported())?;
    let ty = call.ty()?;
    call.finish(admits(kind, ty))?;
    let (result, sources) = signature(kind, ty);
    match sources.len() {
        1 => call.count(&[2], "2")?,
        2 => call.count(&[3], "3")?,
        3 => call.count(&[4], "4")?,
        _ => call.count(&[5], "5")?,
    }
    let destination = call.result(0, result)?;
    let sources = sources
        .iter()
        .enumerate()
        .map(|(index, &ty)| call.source(index + 1, ty))
        .collect::<Result<Vec<Operand>, _>>()?;
    call.emit_alu(Modifiers::NONE.op(kind, ty, ty), destination, sources);
    Ok(())
}

fn kind(call: &mut Call<'_, '_>, base: &str) -> Option<AluKind> {
    Some(match base {
        "and" => AluKind::And,
        "or" => AluKind::Or,
        "xor" => AluKind::Xor,
        "not" => AluKind::Not,
        "cnot" => AluKind::Cnot,
        "shl" => AluKind::Shl,
        "shr" => AluKind::Shr,
        "popc" => AluKind::Popc,
        "clz" => AluKind::Clz,
        "brev" => AluKind::Brev,
        "bfe" => AluKind::Bfe,
        "bfi" => AluKind::Bfi,
        "prmt" => AluKind::Prmt,
        "shf" => {
            let left = call.suffixes.choose(&[("l", true), ("r", false)])?;
            let wrap = call.suffixes.choose(&[("wrap", true), ("clamp", false)])?;
            if left {
                AluKind::ShfL { wrap }
            } else {
                AluKind::ShfR { wrap }
            }
        }
        _ => return None,
    })
}

fn admits(kind: AluKind, ty: T) -> bool {
    let untyped = matches!(ty, T::B16 | T::B32 | T::B64);
    match kind {
        AluKind::And | AluKind::Or | AluKind::Xor | AluKind::Not => untyped || ty == T::Pred,
        AluKind::Cnot | AluKind::Shl => untyped,
        AluKind::Shr => {
            untyped || matches!(ty, T::U16 | T::U32 | T::U64 | T::S16 | T::S32 | T::S64)
        }
        AluKind::Bfe => matches!(ty, T::U32 | T::S32 | T::U64 | T::S64),
        AluKind::Prmt | AluKind::ShfL { .. } | AluKind::ShfR { .. } => ty == T::B32,
        _ => matches!(ty, T::B32 | T::B64),
    }
}

/// Types of the result and of the sources.
fn signature(kind: AluKind, ty: T) -> (T, Vec<T>) {
    match kind {
        AluKind::Not | AluKind::Cnot | AluKind::Brev => (ty, vec![ty]),
        AluKind::Popc | AluKind::Clz => (T::U32, vec![ty]),
        AluKind::Shl | AluKind::Shr => (ty, vec![ty, T::U32]),
        AluKind::ShfL { .. } | AluKind::ShfR { .. } | AluKind::Prmt => (ty, vec![ty, ty, T::U32]),
        AluKind::Bfe => (ty, vec![ty, T::U32, T::U32]),
        AluKind::Bfi => (ty, vec![ty, ty, T::U32, T::U32]),
        _ => (ty, vec![ty, ty]),
    }
}

/// The table is a constant, so it is part of the operation.
fn lop3(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let ty = call.ty()?;
    call.finish(ty == T::B32)?;
    call.count(&[5], "5")?;
    let table = match call.operands[4] {
        Written::Number {
            literal: Literal::Integer(value),
            negative: false,
        } => u8::try_from(value).ok(),
        _ => None,
    };
    let table = table.ok_or_else(|| call.mismatch(4, "a constant of 8 bits"))?;
    let sources = vec![
        call.source(1, ty)?,
        call.source(2, ty)?,
        call.source(3, ty)?,
    ];
    let destination = call.result(0, ty)?;
    call.emit_alu(
        Modifiers::NONE.op(AluKind::Lop3 { table }, ty, ty),
        destination,
        sources,
    );
    Ok(())
}
