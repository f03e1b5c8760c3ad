//! f64 arithmetic, to nearest only.

use super::{
    AluKind as K, AluOp, Lanes,
    lanes::{map, map2, map3},
    unknown,
};

/// The operations of this file.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let load = f64::from_bits;
    match op.kind {
        K::Add => map2(sources, |a, b| (load(a) + load(b)).to_bits()),
        K::Sub => map2(sources, |a, b| (load(a) - load(b)).to_bits()),
        K::MulLo => map2(sources, |a, b| (load(a) * load(b)).to_bits()),
        K::Fma => map3(sources, |a, b, c| {
            load(a).mul_add(load(b), load(c)).to_bits()
        }),
        K::DivRn => map2(sources, |a, b| (load(a) / load(b)).to_bits()),
        K::Abs => map(sources, |a| load(a).abs().to_bits()),
        K::Neg => map(sources, |a| (-load(a)).to_bits()),
        K::Min => map2(sources, |a, b| minimum(load(a), load(b)).to_bits()),
        K::Max => map2(sources, |a, b| (-minimum(-load(a), -load(b))).to_bits()),
        _ => unknown(op),
    }
}

/// The one that is a number if the other is NaN; negative zero is below positive zero.
fn minimum(a: f64, b: f64) -> f64 {
    if a == b {
        return f64::from_bits(a.to_bits() | b.to_bits());
    }
    if a < b || b.is_nan() { a } else { b }
}
