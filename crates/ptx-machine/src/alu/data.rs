//! Moves, choices, packing, and addresses between spaces.

use super::{
    AluKind, AluOp, Lanes, SHARED_WINDOW,
    lanes::{map, map3},
    unknown,
};

/// All ones in the low `bits`.
pub(super) const fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The operations of this file.
pub(super) fn execute(op: &AluOp, sources: &[&Lanes]) -> Lanes {
    let mask = mask(op.ty.bits());
    match op.kind {
        AluKind::Mov | AluKind::Cvta => map(sources, |a| a & mask),
        AluKind::CvtaShared => map(sources, |a| a.wrapping_add(SHARED_WINDOW)),
        AluKind::CvtaToShared => map(sources, |a| a.wrapping_sub(SHARED_WINDOW)),
        AluKind::Selp => map3(sources, |a, b, p| (if p & 1 == 1 { a } else { b }) & mask),
        AluKind::Pack => pack(sources, op.source.bits()),
        AluKind::Unpack { index } => {
            let shift = u32::from(index) * op.ty.bits();
            map(sources, |a| a >> shift & mask)
        }
        _ => unknown(op),
    }
}

fn pack(sources: &[&Lanes], bits: u32) -> Lanes {
    let mask = mask(bits);
    std::array::from_fn(|lane| {
        sources
            .iter()
            .rev()
            .fold(0, |wide, source| wide << bits | source[lane] & mask)
    })
}
