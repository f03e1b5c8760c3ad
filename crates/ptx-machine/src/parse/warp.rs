//! Instructions of several lanes: barriers, shuffles, votes, matrices.

use super::ParseError;
use super::instruction::Operands;
use super::mnemonic::Mnemonic;
use crate::module::{Op, Operand, ScalarType, ShuffleMode, VoteMode};

pub(super) fn barrier(
    mnemonic: &mut Mnemonic<'_>,
    operands: &Operands<'_>,
) -> Result<Op, ParseError> {
    let warp = mnemonic.take("warp");
    if !mnemonic.take("sync") {
        return Err(mnemonic.unsupported());
    }
    if warp {
        operands.expect(mnemonic, &[1])?;
        let mask = operands.value(0)?;
        return Ok(Op::WarpBarrier { mask });
    }
    mnemonic.ignore(|suffix| suffix == "aligned" || suffix == "cta");
    operands.expect(mnemonic, &[1, 2])?;
    let threads = if operands.len() == 2 {
        Some(operands.value(1)?)
    } else {
        None
    };
    let id = operands.value(0)?;
    Ok(Op::Barrier { id, threads })
}

/// `shfl.sync.bfly.b32 d|p, a, b, c, mask`.
pub(super) fn shuffle(
    mnemonic: &mut Mnemonic<'_>,
    operands: &Operands<'_>,
) -> Result<Op, ParseError> {
    let mode = mnemonic.take_first(|suffix| {
        Some(match suffix {
            "up" => ShuffleMode::Up,
            "down" => ShuffleMode::Down,
            "bfly" => ShuffleMode::Butterfly,
            "idx" => ShuffleMode::Index,
            _ => return None,
        })
    });
    let Some(mode) = mode else {
        return Err(mnemonic.unsupported());
    };
    if !mnemonic.take("sync") || !mnemonic.take("b32") {
        return Err(mnemonic.unsupported());
    }
    operands.expect(mnemonic, &[5, 6])?;
    let extra = operands.len() - 5;
    let in_range = if extra == 1 {
        Some(operands.register(1)?)
    } else {
        None
    };
    Ok(Op::Shuffle {
        mode,
        destination: operands.register(0)?,
        in_range,
        source: operands.value(1 + extra)?,
        lane: operands.value(2 + extra)?,
        clamp: operands.value(3 + extra)?,
        mask: operands.value(4 + extra)?,
    })
}

/// `vote.sync.any.pred d, p, mask`.
pub(super) fn vote(mnemonic: &mut Mnemonic<'_>, operands: &Operands<'_>) -> Result<Op, ParseError> {
    let mode = mnemonic.take_first(|suffix| {
        Some(match suffix {
            "any" => VoteMode::Any,
            "all" => VoteMode::All,
            "uni" => VoteMode::Uniform,
            "ballot" => VoteMode::Ballot,
            _ => return None,
        })
    });
    let Some(mode) = mode else {
        return Err(mnemonic.unsupported());
    };
    let result = if mode == VoteMode::Ballot {
        "b32"
    } else {
        "pred"
    };
    if !mnemonic.take("sync") || !mnemonic.take(result) {
        return Err(mnemonic.unsupported());
    }
    operands.expect(mnemonic, &[3])?;
    let (source, negated) = operands.predicate(1)?;
    Ok(Op::Vote {
        mode,
        destination: operands.register(0)?,
        source,
        negated,
        mask: operands.value(2)?,
    })
}

/// `ldmatrix` and `stmatrix` of 8x8 matrices.
pub(super) fn matrix(
    mnemonic: &mut Mnemonic<'_>,
    operands: &Operands<'_>,
) -> Result<Op, ParseError> {
    let count = mnemonic.take_first(|suffix| match suffix {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    });
    let Some(count) = count else {
        return Err(mnemonic.unsupported());
    };
    let transposed = mnemonic.take("trans");
    if !["sync", "aligned", "m8n8", "b16"]
        .into_iter()
        .all(|suffix| mnemonic.take(suffix))
        || !(mnemonic.take("shared") || mnemonic.take("shared::cta"))
    {
        return Err(mnemonic.unsupported());
    }
    operands.expect(mnemonic, &[2])?;
    let check = |found: usize| match found == count {
        true => Ok(()),
        false => Err(mnemonic.operands(format!("vectors of {count} as"), found)),
    };
    if mnemonic.base == "ldmatrix" {
        let (destinations, address) = (operands.registers(0)?, operands.address(1)?);
        check(destinations.len())?;
        return Ok(Op::MatrixLoad {
            transposed,
            destinations,
            address,
        });
    }
    let (address, sources) = (operands.address(0)?, operands.elements(1)?);
    check(sources.len())?;
    Ok(Op::MatrixStore {
        transposed,
        sources,
        address,
    })
}

/// `mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32`.
pub(super) fn mma(mnemonic: &mut Mnemonic<'_>, operands: &Operands<'_>) -> Result<Op, ParseError> {
    let element = match mnemonic
        .name
        .strip_prefix("mma.sync.aligned.m16n8k16.row.col.")
    {
        Some("f32.f16.f16.f32") => ScalarType::F16,
        Some("f32.bf16.bf16.f32") => ScalarType::Bf16,
        _ => return Err(mnemonic.unsupported()),
    };
    mnemonic.ignore(|_| true);
    operands.expect(mnemonic, &[4])?;
    let wrong = |_| mnemonic.operands("fragments of 4, 4, 2 and 4 registers as", operands.len());
    let four = |at| -> Result<[Operand; 4], ParseError> {
        operands.elements(at)?.try_into().map_err(wrong)
    };
    let b = operands.elements(2)?;
    Ok(Op::Mma {
        element,
        d: operands
            .registers(0)?
            .try_into()
            .map_err(|_| wrong(Vec::new()))?,
        a: four(1)?,
        b: b.try_into().map_err(wrong)?,
        c: four(3)?,
    })
}
