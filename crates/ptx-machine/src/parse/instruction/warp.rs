//! Instructions of a whole warp: matrices, shuffles, votes.

use super::call::Call;
use crate::{
    module::{Op, Operand, RegisterClass, ScalarType as T, ShuffleMode, VoteMode},
    parse::{ParseError, operand::Written},
};

const COUNTS: [(&str, usize); 3] = [("x1", 1), ("x2", 2), ("x4", 4)];

/// What `is_b32` holds for, in an error.
const WORD: &str = "a value of 32 bits";

fn is_b32(class: RegisterClass) -> bool {
    class == RegisterClass::B32
}

/// What `ldmatrix` and `stmatrix` share: matrices and transposition. Only 8x8 of 16 bits in shared
/// memory named as such.
fn matrices(call: &mut Call<'_, '_>) -> Result<(usize, bool), ParseError> {
    let suffixes = &mut call.suffixes;
    let holds = suffixes.take("sync")
        && suffixes.take("aligned")
        && suffixes.take("m8n8")
        && (suffixes.take("shared") || suffixes.take("shared::cta"))
        && suffixes.take("b16");
    let transposed = suffixes.take("trans");
    let count = suffixes.choose(&COUNTS).ok_or_else(|| call.unsupported())?;
    call.finish(holds)?;
    call.count(&[2], "2")?;
    Ok((count, transposed))
}

/// `ldmatrix`.
pub(super) fn ldmatrix(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let (count, transposed) = matrices(&mut call)?;
    let destinations = call.destinations(0, count, WORD, is_b32)?;
    let address = call.address(1)?;
    call.emit(Op::MatrixLoad {
        transposed,
        destinations,
        address,
    });
    Ok(())
}

/// `stmatrix`.
pub(super) fn stmatrix(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let (count, transposed) = matrices(&mut call)?;
    let sources = call.values(1, count, T::B32, is_b32)?;
    let address = call.address(0)?;
    call.emit(Op::MatrixStore {
        transposed,
        sources,
        address,
    });
    Ok(())
}

/// `mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32`.
pub(super) fn mma(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let shape = ["sync", "aligned", "m16n8k16", "row", "col"];
    let holds = shape.iter().all(|suffix| call.suffixes.take(suffix));
    let types = [
        call.suffixes.ty(),
        call.suffixes.ty(),
        call.suffixes.ty(),
        call.suffixes.ty(),
    ];
    let element = match types {
        [Some(T::F32), Some(T::F16), Some(T::F16), Some(T::F32)] => T::F16,
        [Some(T::F32), Some(T::Bf16), Some(T::Bf16), Some(T::F32)] => T::Bf16,
        _ => return Err(call.unsupported()),
    };
    call.finish(holds)?;
    call.count(&[4], "4")?;
    let d = array(&call, 0, call.destinations(0, 4, WORD, is_b32)?)?;
    let a = array(&call, 1, call.values(1, 4, T::B32, is_b32)?)?;
    let b = array(&call, 2, call.values(2, 2, T::B32, is_b32)?)?;
    let c = array(&call, 3, call.values(3, 4, T::F32, is_b32)?)?;
    call.emit(Op::Mma {
        element,
        d,
        a,
        b,
        c,
    });
    Ok(())
}

fn array<T, const N: usize>(
    call: &Call<'_, '_>,
    index: usize,
    found: Vec<T>,
) -> Result<[T; N], ParseError> {
    found
        .try_into()
        .map_err(|_| call.mismatch(index, "a fragment"))
}

/// `shfl.sync`.
pub(super) fn shfl(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let modes = [
        ("up", ShuffleMode::Up),
        ("down", ShuffleMode::Down),
        ("bfly", ShuffleMode::Butterfly),
        ("idx", ShuffleMode::Index),
    ];
    let mode = call
        .suffixes
        .choose(&modes)
        .ok_or_else(|| call.unsupported())?;
    let holds = call.suffixes.take("sync") && call.suffixes.take("b32");
    call.finish(holds)?;
    call.count(&[5], "5")?;
    let (destination, in_range) = match &call.operands[0] {
        Written::Pair(value, predicate) => {
            let is_predicate = |class| class == RegisterClass::Predicate;
            let predicate = call.register(0, predicate, "a predicate", is_predicate)?;
            (call.register(0, value, WORD, is_b32)?, Some(predicate))
        }
        _ => (call.result(0, T::B32)?, None),
    };
    let word = |index| call.source(index, T::B32);
    let (source, lane, clamp, mask) = (word(1)?, word(2)?, word(3)?, word(4)?);
    call.emit(Op::Shuffle {
        mode,
        destination,
        in_range,
        source,
        lane,
        clamp,
        mask,
    });
    Ok(())
}

/// `vote.sync`.
pub(super) fn vote(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let modes = [
        ("any", VoteMode::Any),
        ("all", VoteMode::All),
        ("uni", VoteMode::Uniform),
        ("ballot", VoteMode::Ballot),
    ];
    let mode = call
        .suffixes
        .choose(&modes)
        .ok_or_else(|| call.unsupported())?;
    let ty = if mode == VoteMode::Ballot {
        T::B32
    } else {
        T::Pred
    };
    let holds = call.suffixes.take("sync") && call.ty()? == ty;
    call.finish(holds)?;
    call.count(&[3], "3")?;
    let destination = call.result(0, ty)?;
    let (source, negated): (Operand, bool) = call.predicate(1)?;
    let mask = call.source(2, T::B32)?;
    call.emit(Op::Vote {
        mode,
        destination,
        source,
        negated,
        mask,
    });
    Ok(())
}
