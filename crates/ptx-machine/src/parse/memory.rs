//! Instructions that move data: loads, stores, atomics, asynchronous copies.

use super::ParseError;
use super::instruction::Operands;
use super::mnemonic::Mnemonic;
use crate::module::{AtomicOp, Op, Operand, ScalarType, Space};

/// Suffixes about caches and ordering. Accesses of this machine happen one by one and reach memory
/// at once, so they change nothing.
fn is_hint(suffix: &str) -> bool {
    let hints = [
        "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "volatile", "weak", "relaxed", "acquire",
        "release", "acq_rel", "cta", "gpu", "sys", "cluster",
    ];
    hints.contains(&suffix) || suffix.starts_with("L1::") || suffix.starts_with("L2::")
}

fn space(mnemonic: &mut Mnemonic<'_>) -> Space {
    mnemonic
        .take_first(|suffix| match suffix {
            "global" => Some(Space::Global),
            "shared" | "shared::cta" => Some(Space::Shared),
            "param" => Some(Space::Parameter),
            _ => None,
        })
        .unwrap_or(Space::Generic)
}

/// Elements of a vector access.
fn vector(mnemonic: &mut Mnemonic<'_>) -> usize {
    mnemonic
        .take_first(|suffix| match suffix {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        })
        .unwrap_or(1)
}

pub(super) fn load_or_store(
    mnemonic: &mut Mnemonic<'_>,
    operands: &Operands<'_>,
) -> Result<Op, ParseError> {
    operands.expect(mnemonic, &[2])?;
    let (space, count, ty) = (space(mnemonic), vector(mnemonic), mnemonic.ty()?);
    mnemonic.ignore(is_hint);
    if mnemonic.base == "ld" {
        let (destinations, address) = (operands.registers(0)?, operands.address(1)?);
        require(mnemonic, count, destinations.len())?;
        return Ok(Op::Load {
            space,
            ty,
            destinations,
            address,
        });
    }
    let (address, sources) = (operands.address(0)?, operands.elements(1)?);
    require(mnemonic, count, sources.len())?;
    Ok(Op::Store {
        space,
        ty,
        sources,
        address,
    })
}

fn require(mnemonic: &Mnemonic<'_>, expected: usize, found: usize) -> Result<(), ParseError> {
    if expected == found {
        return Ok(());
    }
    Err(mnemonic.operands(format!("vectors of {expected} as"), found))
}

pub(super) fn atomic(
    mnemonic: &mut Mnemonic<'_>,
    operands: &Operands<'_>,
) -> Result<Op, ParseError> {
    let (space, count) = (space(mnemonic), vector(mnemonic));
    let op = mnemonic
        .take_first(|suffix| {
            Some(match suffix {
                "add" => AtomicOp::Add,
                "min" => AtomicOp::Min,
                "max" => AtomicOp::Max,
                "and" => AtomicOp::And,
                "or" => AtomicOp::Or,
                "xor" => AtomicOp::Xor,
                "exch" => AtomicOp::Exchange,
                "cas" => AtomicOp::CompareAndSwap,
                "inc" => AtomicOp::Increment,
                "dec" => AtomicOp::Decrement,
                _ => return None,
            })
        })
        .ok_or_else(|| mnemonic.unsupported())?;
    let ty = mnemonic.ty()?;
    mnemonic.ignore(is_hint);
    // Races of shared memory are not told from atomics there.
    if space == Space::Shared {
        return Err(mnemonic.unsupported());
    }
    let float = ty == ScalarType::F32 && op == AtomicOp::Add;
    let integer = !ty.is_float() && ty.bits() >= 32;
    if !float && !integer {
        return Err(mnemonic.unsupported());
    }
    let returns = usize::from(mnemonic.base == "atom");
    let swaps = op == AtomicOp::CompareAndSwap;
    operands.expect(mnemonic, &[returns + 2 + usize::from(swaps)])?;
    let destinations = if returns == 1 {
        operands.registers(0)?
    } else {
        Vec::new()
    };
    let address = operands.address(returns)?;
    let (compare, sources) = if swaps {
        let compare = operands.value(returns + 1)?;
        (Some(compare), operands.elements(returns + 2)?)
    } else {
        (None, operands.elements(returns + 1)?)
    };
    require(mnemonic, count, sources.len())?;
    Ok(Op::Atomic {
        space,
        op,
        ty,
        destinations,
        address,
        sources,
        compare,
    })
}

/// `cp.async` and its groups.
pub(super) fn async_copy(
    mnemonic: &mut Mnemonic<'_>,
    operands: &Operands<'_>,
) -> Result<Op, ParseError> {
    if !mnemonic.take("async") {
        return Err(mnemonic.unsupported());
    }
    if mnemonic.take("commit_group") {
        operands.expect(mnemonic, &[0])?;
        return Ok(Op::AsyncCommit);
    }
    if mnemonic.take("wait_all") {
        operands.expect(mnemonic, &[0])?;
        let (pending, all) = (0, true);
        return Ok(Op::AsyncWait { pending, all });
    }
    if mnemonic.take("wait_group") {
        operands.expect(mnemonic, &[1])?;
        return match operands.value(0)? {
            Operand::Immediate(pending) => Ok(Op::AsyncWait {
                pending: pending as u32,
                all: false,
            }),
            _ => Err(mnemonic.unsupported()),
        };
    }
    let whole_line = mnemonic.take("cg");
    if !whole_line && !mnemonic.take("ca") {
        return Err(mnemonic.unsupported());
    }
    let to_shared = mnemonic.take("shared") || mnemonic.take("shared::cta");
    if !to_shared || !mnemonic.take("global") {
        return Err(mnemonic.unsupported());
    }
    mnemonic.ignore(|suffix| suffix.starts_with("L2::"));
    operands.expect(mnemonic, &[3, 4])?;
    let bytes = match operands.value(2)? {
        Operand::Immediate(16) => 16,
        Operand::Immediate(bytes @ (4 | 8)) if !whole_line => bytes as u32,
        _ => return Err(mnemonic.unsupported()),
    };
    let source_bytes = if operands.len() == 4 {
        Some(operands.value(3)?)
    } else {
        None
    };
    Ok(Op::AsyncCopy {
        destination: operands.address(0)?,
        source: operands.address(1)?,
        bytes,
        source_bytes,
    })
}
