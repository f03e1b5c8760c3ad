//! Functions of one float: reciprocals, roots, exponentials and trigonometry.
//!
//! The approximations are computed in f64 and rounded to nearest. The special values of the ISA's
//! tables follow from IEEE 754: `ex2(-inf) = 0`, `lg2(0) = -inf`, `lg2(x < 0) = NaN`,
//! `rcp(0) = inf` with the sign of the zero, `sqrt(-0) = -0`, `sin(inf) = NaN`.

use super::{
    AluKind as K, AluOp, Lanes, Rounding, lanes::map_active, narrow::Narrow, round, single::Modes,
    unknown,
};
use crate::module::ScalarType as T;

/// The operations of this file.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes], active: u32) -> Lanes {
    let function = function(op);
    if let Some(narrow) = Narrow::of(op) {
        return map_active(sources, active, |a| {
            narrow.halves(|half| narrow.store(function(narrow.load(a >> half))))
        });
    }
    match op.ty {
        T::F32 if matches!(op.rounding, None | Some(Rounding::Rn)) => {
            let modes = Modes::of(op);
            map_active(sources, active, |a| {
                modes.store(function(f64::from(modes.load(a))) as f32)
            })
        }
        T::F32 => {
            let (modes, rounding) = (Modes::of(op), op.rounding.unwrap_or(Rounding::Rn));
            map_active(sources, active, |a| {
                modes.store_rounded(function(f64::from(modes.load(a))), rounding)
            })
        }
        T::F64 => map_active(sources, active, |a| match op.kind {
            K::RcpRn => (1.0 / f64::from_bits(a)).to_bits(),
            K::SqrtRn => f64::from_bits(a).sqrt().to_bits(),
            _ => unknown(op),
        }),
        _ => unknown(op),
    }
}

fn function(op: &AluOp) -> fn(f64) -> f64 {
    match op.kind {
        K::Ex2Approx => f64::exp2,
        K::Lg2Approx => f64::log2,
        K::RcpApprox | K::RcpRn => |x| round::div(1.0, x),
        K::SqrtApprox | K::SqrtRn => round::sqrt,
        // The root of -0 is -0, so its reciprocal is -inf.
        K::RsqrtApprox => |x| 1.0 / x.sqrt(),
        K::SinApprox => f64::sin,
        K::CosApprox => f64::cos,
        K::TanhApprox => f64::tanh,
        _ => unknown(op),
    }
}
