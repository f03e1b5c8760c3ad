//! `setp`.

use super::{
    AluOp, LANES, Lanes, Logic,
    format::{format, value},
    lanes::map2,
    unknown,
};
use crate::module::{Comparison as C, ScalarType as T};

/// The comparison, then its combination with the third source where there is one.
pub(super) fn execute(
    op: &AluOp,
    comparison: C,
    combine: Option<Logic>,
    sources: &[&Lanes],
) -> Lanes {
    let mut result = match op.ty {
        T::B16 | T::U16 => integers(comparison, sources, |a| a as u16),
        T::B32 | T::U32 => integers(comparison, sources, |a| a as u32),
        T::B64 | T::U64 => integers(comparison, sources, |a| a),
        T::S16 => integers(comparison, sources, |a| a as i16),
        T::S32 => integers(comparison, sources, |a| a as i32),
        T::S64 => integers(comparison, sources, |a| a as i64),
        T::F32 if op.ftz => floats(comparison, sources, |a| {
            let value = f32::from_bits(a as u32);
            if value.abs() < f32::MIN_POSITIVE {
                0.0
            } else {
                value
            }
        }),
        T::F32 => floats(comparison, sources, |a| f32::from_bits(a as u32)),
        T::F64 => floats(comparison, sources, f64::from_bits),
        T::F16 | T::Bf16 => {
            let flush = format(op.ty).filter(|_| op.ftz);
            floats(comparison, sources, |a| {
                let a = a & 0xFFFF;
                value(op.ty, flush.map_or(a, |format| format.flush(a)))
            })
        }
        _ => unknown(op),
    };
    if let Some(logic) = combine {
        for lane in 0..LANES {
            result[lane] = apply(logic, result[lane], sources[2][lane] & 1);
        }
    }
    result
}

fn apply(logic: Logic, a: u64, c: u64) -> u64 {
    match logic {
        Logic::And => a & c,
        Logic::Or => a | c,
        Logic::Xor => a ^ c,
        Logic::AndNot => a & (c ^ 1),
        Logic::OrNot => a | (c ^ 1),
        Logic::XorNot => a ^ c ^ 1,
    }
}

fn integers<I: Ord>(comparison: C, sources: &[&Lanes], load: impl Fn(u64) -> I) -> Lanes {
    match comparison {
        C::Eq | C::Equ => map2(sources, |a, b| (load(a) == load(b)).into()),
        C::Ne | C::Neu => map2(sources, |a, b| (load(a) != load(b)).into()),
        C::Lt | C::Ltu => map2(sources, |a, b| (load(a) < load(b)).into()),
        C::Le | C::Leu => map2(sources, |a, b| (load(a) <= load(b)).into()),
        C::Gt | C::Gtu => map2(sources, |a, b| (load(a) > load(b)).into()),
        C::Ge | C::Geu => map2(sources, |a, b| (load(a) >= load(b)).into()),
        C::Num => [1; LANES],
        C::Nan => [0; LANES],
    }
}

/// The unordered forms are the opposites of the opposite comparisons.
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN makes them differ")]
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn floats<F: PartialOrd>(comparison: C, sources: &[&Lanes], load: impl Fn(u64) -> F) -> Lanes {
    let unordered = |a: &F, b: &F| a != a || b != b;
    match comparison {
        C::Eq => map2(sources, |a, b| (load(a) == load(b)).into()),
        C::Neu => map2(sources, |a, b| (load(a) != load(b)).into()),
        C::Lt => map2(sources, |a, b| (load(a) < load(b)).into()),
        C::Le => map2(sources, |a, b| (load(a) <= load(b)).into()),
        C::Gt => map2(sources, |a, b| (load(a) > load(b)).into()),
        C::Ge => map2(sources, |a, b| (load(a) >= load(b)).into()),
        C::Ltu => map2(sources, |a, b| (!(load(a) >= load(b))).into()),
        C::Leu => map2(sources, |a, b| (!(load(a) > load(b))).into()),
        C::Gtu => map2(sources, |a, b| (!(load(a) <= load(b))).into()),
        C::Geu => map2(sources, |a, b| (!(load(a) < load(b))).into()),
        C::Ne => map2(sources, |a, b| {
            let (a, b) = (load(a), load(b));
            (!unordered(&a, &b) && a != b).into()
        }),
        C::Equ => map2(sources, |a, b| {
            let (a, b) = (load(a), load(b));
            (unordered(&a, &b) || a == b).into()
        }),
        C::Num => map2(sources, |a, b| (!unordered(&load(a), &load(b))).into()),
        C::Nan => map2(sources, |a, b| unordered(&load(a), &load(b)).into()),
    }
}
