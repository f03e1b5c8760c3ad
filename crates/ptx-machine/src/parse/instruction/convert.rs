//! `mov`, `cvt` and `cvta`.

use super::{
    call::{Call, Modifiers},
    resolve::at_least,
};
use crate::{
    alu::{AluKind, Rounding as R},
    module::{RegisterClass, ScalarType as T},
    parse::{ParseError, operand::Written},
};

/// `mov`: a copy, a packing `{a, b}` to one, or an unpacking of one to `{a, b}`.
pub(super) fn mov(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let ty = call.ty()?;
    let narrow = matches!(ty, T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2);
    call.finish(ty.bits() != 8 && !narrow)?;
    call.count(&[2], "2")?;
    match (&call.operands[0], &call.operands[1]) {
        (Written::Vector(elements), _) => {
            let count = elements.len();
            unpack(&mut call, ty, count)
        }
        (_, Written::Vector(elements)) => {
            let element = element(&call, 1, ty, elements.len())?;
            let holds = |class: RegisterClass| class.bits() == element.bits();
            let sources = call.values(1, elements.len(), element, holds)?;
            let destination = call.result(0, ty)?;
            call.emit_alu(
                Modifiers::NONE.op(AluKind::Pack, ty, element),
                destination,
                sources,
            );
            Ok(())
        }
        _ => {
            let (destination, source) = (call.result(0, ty)?, call.source(1, ty)?);
            call.emit_alu(
                Modifiers::NONE.op(AluKind::Mov, ty, ty),
                destination,
                vec![source],
            );
            Ok(())
        }
    }
}

/// Type of one of `count` equal parts of a `ty`.
fn element(call: &Call<'_, '_>, index: usize, ty: T, count: usize) -> Result<T, ParseError> {
    match (ty, count) {
        (T::B32, 2) | (T::B64, 4) => Ok(T::B16),
        (T::B64, 2) => Ok(T::B32),
        _ => Err(call.mismatch(index, "2 or 4 equal parts of at least 16 bits")),
    }
}

fn unpack(call: &mut Call<'_, '_>, ty: T, count: usize) -> Result<(), ParseError> {
    let element = element(call, 0, ty, count)?;
    let source = call.source(1, ty)?;
    for index in 0..count {
        let destination = match &call.elements(0)[index] {
            Written::Name { name: "_", .. } => continue,
            Written::Name { name, offset: 0 } => {
                call.register(0, name, "narrower registers", |c| {
                    c.bits() == element.bits()
                })?
            }
            _ => return Err(call.mismatch(0, "registers")),
        };
        let index = u8::try_from(index).unwrap_or(u8::MAX);
        let op = Modifiers::NONE.op(AluKind::Unpack { index }, element, ty);
        call.emit_alu(op, destination, vec![source]);
    }
    Ok(())
}

/// `cvt`, with one source or with two for a packed result.
pub(super) fn cvt(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let modifiers = call.modifiers();
    let (ty, source) = (call.ty()?, call.ty()?);
    call.finish(converts(ty, source, modifiers))?;
    if matches!(ty, T::F16x2 | T::Bf16x2) {
        call.count(&[3], "3")?;
        let sources = vec![call.source(1, source)?, call.source(2, source)?];
        let destination = call.result(0, ty)?;
        call.emit_alu(modifiers.op(AluKind::Cvt, ty, source), destination, sources);
        return Ok(());
    }
    call.count(&[2], "2")?;
    let destination = call.destination(0, "a register at least as wide", at_least(ty))?;
    let bits = call.building.scopes.registers[destination.0 as usize]
        .class
        .bits();
    let kind = match u8::try_from(bits) {
        Ok(bits) if ty.is_signed() && u32::from(bits) > ty.bits() => AluKind::CvtExtended { bits },
        _ => AluKind::Cvt,
    };
    let sources = vec![call.loose_source(1, source)?];
    call.emit_alu(modifiers.op(kind, ty, source), destination, sources);
    Ok(())
}

fn is_integer(ty: T) -> bool {
    matches!(
        ty,
        T::U8 | T::S8 | T::U16 | T::S16 | T::U32 | T::S32 | T::U64 | T::S64
    )
}

fn is_float(ty: T) -> bool {
    matches!(ty, T::F16 | T::Bf16 | T::F32 | T::F64)
}

/// Whether the ISA has this conversion, with this rounding.
///
/// It asks for a rounding wherever the result may be inexact; to an integer it is `.rni` and so on.
fn converts(ty: T, source: T, modifiers: Modifiers) -> bool {
    let Modifiers {
        rounding,
        ftz,
        saturate,
    } = modifiers;
    let to_float = matches!(rounding, Some(R::Rn | R::Rz | R::Rm | R::Rp));
    let to_integer = matches!(rounding, Some(R::Rni | R::Rzi | R::Rmi | R::Rpi));
    let flushes = !ftz || ty == T::F32 || source == T::F32;
    let rounds = match (ty, source) {
        (T::F16x2 | T::Bf16x2, T::F32) => {
            matches!(rounding, Some(R::Rn | R::Rz)) && !ftz && !saturate
        }
        _ if is_integer(ty) && is_integer(source) => rounding.is_none(),
        _ if is_integer(ty) && is_float(source) => to_integer,
        _ if is_float(ty) && is_integer(source) => to_float,
        _ if is_float(ty) && ty == source => rounding.is_none() || to_integer,
        _ if is_float(ty) && is_float(source) && ty.bits() > source.bits() => {
            rounding.is_none() || rounding == Some(R::Rn)
        }
        _ if is_float(ty) && is_float(source) => to_float,
        _ => false,
    };
    rounds && flushes
}

/// `cvta` between the generic space and another.
pub(super) fn cvta(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let from_generic = call.suffixes.take("to");
    let shared =
        call.suffixes
            .choose(&[("shared", true), ("global", false), ("shared::cta", true)]);
    let shared = shared.ok_or_else(|| call.unsupported())?;
    let ty = call.ty()?;
    call.finish(ty == T::U64)?;
    call.count(&[2], "2")?;
    let kind = match (shared, from_generic) {
        (false, _) => AluKind::Cvta,
        (true, false) => AluKind::CvtaShared,
        (true, true) => AluKind::CvtaToShared,
    };
    let (destination, source) = (call.result(0, ty)?, call.source(1, ty)?);
    call.emit_alu(Modifiers::NONE.op(kind, ty, ty), destination, vec![source]);
    Ok(())
}
