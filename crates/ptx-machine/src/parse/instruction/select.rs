//! Comparisons and the choice between two values.

use super::call::{Call, Modifiers};
use crate::{
    alu::{AluKind, Logic},
    module::{Comparison, Operand, RegisterClass, RegisterId, ScalarType as T},
    parse::{ParseError, operand::Written},
};

const LOGICS: [(&str, Logic); 3] = [("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)];

/// `lo`, `ls`, `hi` and `hs` are the unsigned names of `lt`, `le`, `gt` and `ge`.
const COMPARISONS: [(&str, Comparison); 18] = [
    ("eq", Comparison::Eq),
    ("ne", Comparison::Ne),
    ("lt", Comparison::Lt),
    ("le", Comparison::Le),
    ("gt", Comparison::Gt),
    ("ge", Comparison::Ge),
    ("lo", Comparison::Lt),
    ("ls", Comparison::Le),
    ("hi", Comparison::Gt),
    ("hs", Comparison::Ge),
    ("equ", Comparison::Equ),
    ("neu", Comparison::Neu),
    ("ltu", Comparison::Ltu),
    ("leu", Comparison::Leu),
    ("gtu", Comparison::Gtu),
    ("geu", Comparison::Geu),
    ("num", Comparison::Num),
    ("nan", Comparison::Nan),
];

/// `setp`, with one result or with two, the second of the opposite comparison.
pub(super) fn setp(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let comparison = call
        .suffixes
        .choose(&COMPARISONS)
        .ok_or_else(|| call.unsupported())?;
    let logic = call.suffixes.choose(&LOGICS);
    let modifiers = call.modifiers();
    let ty = call.ty()?;
    let plain = modifiers.rounding.is_none() && !modifiers.saturate;
    let flushes = matches!(ty, T::F32 | T::F16) || !modifiers.ftz;
    call.finish(plain && flushes && compares(comparison, ty))?;
    call.count(
        if logic.is_some() { &[4] } else { &[3] },
        if logic.is_some() { "4" } else { "3" },
    )?;

    let mut sources = vec![call.source(1, ty)?, call.source(2, ty)?];
    let mut combine = logic;
    if let Some(logic) = logic {
        let (predicate, negated) = call.predicate(3)?;
        sources.push(predicate);
        combine = Some(if negated { negate(logic) } else { logic });
    }
    let (first, second) = results(&call)?;
    let mut results = vec![(first, comparison), (second, opposite(comparison, ty))];
    // The two become two instructions, so a predicate that is read too, as a source or as the guard,
    // must be written last. With two of these there is no such order.
    let guard = call.place.guard.map(|guard| guard.predicate);
    let is_read = |id| guard == Some(id) || sources.contains(&Operand::Register(id));
    match (first.is_some_and(is_read), second.is_some_and(is_read)) {
        (true, true) => return Err(call.unsupported()),
        (true, false) => results.reverse(),
        (false, _) => {}
    }
    for (destination, comparison) in results {
        if let Some(destination) = destination {
            let op = modifiers.op(
                AluKind::Setp {
                    comparison,
                    combine,
                },
                ty,
                ty,
            );
            call.emit_alu(op, destination, sources.clone());
        }
    }
    Ok(())
}

/// `p`, `p|q`, `_|q` or `p|_`.
fn results(call: &Call<'_, '_>) -> Result<(Option<RegisterId>, Option<RegisterId>), ParseError> {
    let predicate = |name: &str| {
        if name == "_" {
            return Ok(None);
        }
        call.register(0, name, "a predicate", |class| {
            class == RegisterClass::Predicate
        })
        .map(Some)
    };
    match &call.operands[0] {
        Written::Pair(first, second) => Ok((predicate(first)?, predicate(second)?)),
        _ => Ok((Some(call.result(0, T::Pred)?), None)),
    }
}

fn compares(comparison: Comparison, ty: T) -> bool {
    use Comparison as C;
    match ty {
        T::B16 | T::B32 | T::B64 => matches!(comparison, C::Eq | C::Ne),
        T::U16 | T::S16 | T::U32 | T::S32 | T::U64 | T::S64 => {
            matches!(comparison, C::Eq | C::Ne | C::Lt | C::Le | C::Gt | C::Ge)
        }
        T::F16 | T::Bf16 | T::F32 | T::F64 => true,
        _ => false,
    }
}

fn opposite(comparison: Comparison, ty: T) -> Comparison {
    use Comparison as C;
    let float = matches!(ty, T::F16 | T::Bf16 | T::F32 | T::F64);
    match (comparison, float) {
        (C::Eq, false) => C::Ne,
        (C::Ne, false) => C::Eq,
        (C::Lt, false) => C::Ge,
        (C::Le, false) => C::Gt,
        (C::Gt, false) => C::Le,
        (C::Ge, false) => C::Lt,
        (C::Eq, true) => C::Neu,
        (C::Ne, true) => C::Equ,
        (C::Lt, true) => C::Geu,
        (C::Le, true) => C::Gtu,
        (C::Gt, true) => C::Leu,
        (C::Ge, true) => C::Ltu,
        (C::Equ, _) => C::Ne,
        (C::Neu, _) => C::Eq,
        (C::Ltu, _) => C::Ge,
        (C::Leu, _) => C::Gt,
        (C::Gtu, _) => C::Le,
        (C::Geu, _) => C::Lt,
        (C::Num, _) => C::Nan,
        (C::Nan, _) => C::Num,
    }
}

fn negate(logic: Logic) -> Logic {
    match logic {
        Logic::And => Logic::AndNot,
        Logic::Or => Logic::OrNot,
        Logic::Xor => Logic::XorNot,
        other => other,
    }
}

/// `selp`.
pub(super) fn selp(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let ty = call.ty()?;
    let packed = matches!(ty, T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2);
    call.finish(ty.bits() >= 16 && !packed)?;
    call.count(&[4], "4")?;
    let sources = vec![
        call.source(1, ty)?,
        call.source(2, ty)?,
        call.source(3, T::Pred)?,
    ];
    let destination = call.result(0, ty)?;
    call.emit_alu(
        Modifiers::NONE.op(AluKind::Selp, ty, ty),
        destination,
        sources,
    );
    Ok(())
}
