//! Arithmetic, by the family of the type.

use super::{AluOp, Lanes, double, integer, narrow, single};
use crate::module::ScalarType as T;

/// The operations that integers and floats share by name.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    match op.ty {
        T::F32 => single::execute(op, sources),
        T::F64 => double::execute(op, sources),
        T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2 => narrow::execute(op, sources),
        _ => integer::execute(op, sources),
    }
}
