//! Operations against values worked out by hand, and against exact arithmetic.

mod bits;
mod compare;
mod convert;
mod float;
mod function;
mod integer;
mod rounding;

use super::{AluKind, AluOp, LANES, Lanes, Rounding, execute};
use crate::module::ScalarType;

/// An operation without modifiers whose source has the type of its result.
fn op(kind: AluKind, ty: ScalarType) -> AluOp {
    AluOp {
        kind,
        ty,
        source: ty,
        rounding: None,
        ftz: false,
        saturate: false,
    }
}

fn rounded(kind: AluKind, ty: ScalarType, rounding: Rounding) -> AluOp {
    AluOp {
        rounding: Some(rounding),
        ..op(kind, ty)
    }
}

/// The result in every lane, which must be the same in all.
fn run(op: AluOp, sources: &[u64]) -> u64 {
    let sources: Vec<Lanes> = sources.iter().map(|&value| [value; LANES]).collect();
    let result = execute(&op, &sources, u32::MAX);
    assert!(result.iter().all(|&lane| lane == result[0]));
    result[0]
}

fn single(value: f32) -> u64 {
    value.to_bits().into()
}

const NAN: u64 = 0x7FFF_FFFF;
const INFINITY: u64 = 0x7F80_0000;
const SIGN: u64 = 0x8000_0000;
