//! `atom` and `red`.

use super::{
    call::Call,
    memory::{is_cache_hint, is_order, space},
    resolve::width_name,
};
use crate::{
    module::{AtomicOp as A, Op, RegisterClass, RegisterId, ScalarType as T, Space},
    parse::{ParseError, operand::Written},
};

const OPERATIONS: [(&str, A); 10] = [
    ("add", A::Add),
    ("min", A::Min),
    ("max", A::Max),
    ("and", A::And),
    ("or", A::Or),
    ("xor", A::Xor),
    ("exch", A::Exchange),
    ("cas", A::CompareAndSwap),
    ("inc", A::Increment),
    ("dec", A::Decrement),
];

struct Atomic {
    space: Space,
    op: A,
    ty: T,
    count: usize,
    /// Operands that a cache policy adds.
    policies: usize,
}

fn atomic(call: &mut Call<'_, '_>) -> Result<Atomic, ParseError> {
    let policies = usize::from(call.place.name.contains("L2::cache_hint"));
    call.suffixes
        .ignore(|suffix| is_cache_hint(suffix) || is_order(suffix) || suffix == "noftz");
    let space = space(call);
    let op = call
        .suffixes
        .choose(&OPERATIONS)
        .ok_or_else(|| call.unsupported())?;
    let count = call
        .suffixes
        .choose(&[("v2", 2), ("v4", 4), ("v8", 8)])
        .unwrap_or(1);
    let ty = call.ty()?;
    // Vectors are for sums in global memory; eight elements for the types of 16 bits.
    let most = match ty {
        T::F16 | T::Bf16 => 8,
        T::F32 | T::F16x2 | T::Bf16x2 => 4,
        _ => 1,
    };
    let vector = count == 1 || op == A::Add && space == Space::Global && count <= most;
    call.finish(space != Space::Parameter && vector && admits(op, ty))?;
    Ok(Atomic {
        space,
        op,
        ty,
        count,
        policies,
    })
}

fn admits(op: A, ty: T) -> bool {
    match op {
        A::Add => matches!(
            ty,
            T::U32 | T::S32 | T::U64 | T::F32 | T::F64 | T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2
        ),
        A::Min | A::Max => matches!(ty, T::U32 | T::S32 | T::U64 | T::S64),
        A::And | A::Or | A::Xor | A::Exchange => matches!(ty, T::B32 | T::B64),
        A::CompareAndSwap => matches!(ty, T::B16 | T::B32 | T::B64),
        A::Increment | A::Decrement => ty == T::U32,
    }
}

/// `atom`; a destination `_` makes it a `red`.
pub(super) fn atom(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let found = atomic(&mut call)?;
    let swap = found.op == A::CompareAndSwap;
    match 3 + usize::from(swap) + found.policies {
        3 => call.count(&[3], "3")?,
        4 => call.count(&[4], "4")?,
        _ => call.count(&[5], "5")?,
    }
    let unused = matches!(call.operands[0], Written::Name { name: "_", .. });
    let destinations = match unused {
        true => Vec::new(),
        false => {
            let holds = |class: RegisterClass| class.bits() == found.ty.bits();
            call.destinations(0, found.count, width_name(found.ty), holds)?
        }
    };
    emit(call, &found, 1, destinations)
}

/// `red`.
pub(super) fn red(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let found = atomic(&mut call)?;
    if matches!(found.op, A::Exchange | A::CompareAndSwap) {
        return Err(call.unsupported());
    }
    if found.policies == 0 {
        call.count(&[2], "2")?
    } else {
        call.count(&[3], "3")?
    }
    emit(call, &found, 0, Vec::new())
}

/// The address is operand `first`; the values follow.
fn emit(
    mut call: Call<'_, '_>,
    found: &Atomic,
    first: usize,
    destinations: Vec<RegisterId>,
) -> Result<(), ParseError> {
    let &Atomic {
        space,
        op,
        ty,
        count,
        ..
    } = found;
    let address = call.address(first)?;
    let values = |index| call.values(index, count, ty, |class| class.bits() == ty.bits());
    let (compare, sources) = if op == A::CompareAndSwap {
        (Some(call.source(first + 1, ty)?), values(first + 2)?)
    } else {
        (None, values(first + 1)?)
    };
    call.emit(Op::Atomic {
        space,
        op,
        ty,
        destinations,
        address,
        sources,
        compare,
    });
    Ok(())
}
