//! Instructions on registers alone.

use super::ParseError;
use super::instruction::Operands;
use super::mnemonic::Mnemonic;
use super::operand::Written;
use crate::alu::{AluKind, AluOp, Logic, Rounding};
use crate::module::{Comparison, Op, Operand};

pub(super) fn alu(mnemonic: &mut Mnemonic<'_>, operands: &Operands<'_>) -> Result<Op, ParseError> {
    if mnemonic.base == "mov"
        && let Some(Written::Vector(_)) = operands.written.first()
    {
        mnemonic.ty()?;
        mnemonic.finish()?;
        operands.expect(mnemonic, &[2])?;
        return Ok(Op::Unpack {
            destinations: operands.registers(0)?,
            source: operands.value(1)?,
        });
    }
    let op = operation(mnemonic)?;
    mnemonic.finish()?;
    if !op.is_supported() {
        return Err(mnemonic.unsupported());
    }
    let sources = sources(&op, mnemonic, operands)?;
    Ok(Op::Alu {
        op,
        destination: operands.register(0)?,
        sources,
    })
}

fn sources(
    op: &AluOp,
    mnemonic: &Mnemonic<'_>,
    operands: &Operands<'_>,
) -> Result<Vec<Operand>, ParseError> {
    if op.kind == AluKind::Mov
        && let Some(Written::Vector(_)) = operands.written.get(1)
    {
        return operands.elements(1);
    }
    let count = op.sources();
    operands.expect(mnemonic, &[count + 1])?;
    (1..=count).map(|at| operands.value(at)).collect()
}

fn operation(mnemonic: &mut Mnemonic<'_>) -> Result<AluOp, ParseError> {
    let kind = kind(mnemonic)?;
    let rounding = mnemonic.take_first(rounding);
    let ftz = mnemonic.take("ftz");
    let saturate = mnemonic.take("sat");
    mnemonic.ignore(|suffix| matches!(suffix, "approx" | "full"));
    if kind == AluKind::Cvta {
        // Generic addresses of this machine are global ones.
        mnemonic.ignore(|suffix| matches!(suffix, "to" | "global"));
    }
    let ty = mnemonic.ty()?;
    let source = match kind {
        AluKind::Cvt => mnemonic.ty()?,
        _ => ty,
    };
    Ok(AluOp {
        kind,
        ty,
        source,
        rounding,
        ftz,
        saturate,
    })
}

fn kind(mnemonic: &mut Mnemonic<'_>) -> Result<AluKind, ParseError> {
    Ok(match mnemonic.base {
        "mov" => AluKind::Mov,
        "add" => AluKind::Add,
        "sub" => AluKind::Sub,
        "mul" => match half(mnemonic) {
            Some(Half::Hi) => AluKind::MulHi,
            Some(Half::Wide) => AluKind::MulWide,
            Some(Half::Lo) | None => AluKind::MulLo,
        },
        "mad" => match half(mnemonic) {
            Some(Half::Hi) => AluKind::MadHi,
            Some(Half::Wide) => AluKind::MadWide,
            Some(Half::Lo) => AluKind::MadLo,
            None => return Err(mnemonic.unsupported()),
        },
        "fma" => AluKind::Fma,
        "div" => AluKind::Div,
        "rem" => AluKind::Rem,
        "abs" => AluKind::Abs,
        "neg" => AluKind::Neg,
        "min" => match mnemonic.take("NaN") {
            true => AluKind::MinNan,
            false => AluKind::Min,
        },
        "max" => match mnemonic.take("NaN") {
            true => AluKind::MaxNan,
            false => AluKind::Max,
        },
        "and" => AluKind::And,
        "or" => AluKind::Or,
        "xor" => AluKind::Xor,
        "not" => AluKind::Not,
        "shl" => AluKind::Shl,
        "shr" => AluKind::Shr,
        "shf" => {
            let left = mnemonic.take("l");
            let known = left || mnemonic.take("r");
            let wrap = mnemonic.take("wrap");
            if !known || !(wrap || mnemonic.take("clamp")) {
                return Err(mnemonic.unsupported());
            }
            if left {
                AluKind::ShfL { wrap }
            } else {
                AluKind::ShfR { wrap }
            }
        }
        "popc" => AluKind::Popc,
        "clz" => AluKind::Clz,
        "brev" => AluKind::Brev,
        "bfe" => AluKind::Bfe,
        "bfi" => AluKind::Bfi,
        "prmt" => AluKind::Prmt,
        "lop3" => AluKind::Lop3,
        "setp" => {
            let comparison = mnemonic.take_first(comparison);
            let combine = mnemonic.take_first(|suffix| match suffix {
                "and" => Some(Logic::And),
                "or" => Some(Logic::Or),
                "xor" => Some(Logic::Xor),
                _ => None,
            });
            let comparison = comparison.ok_or_else(|| mnemonic.unsupported())?;
            AluKind::Setp {
                comparison,
                combine,
            }
        }
        "selp" => AluKind::Selp,
        "cvt" => AluKind::Cvt,
        "cvta" => AluKind::Cvta,
        "ex2" => AluKind::Ex2,
        "lg2" => AluKind::Lg2,
        "rcp" => AluKind::Rcp,
        "sqrt" => AluKind::Sqrt,
        "rsqrt" => AluKind::Rsqrt,
        "sin" => AluKind::Sin,
        "cos" => AluKind::Cos,
        "tanh" => AluKind::Tanh,
        _ => return Err(mnemonic.unsupported()),
    })
}

enum Half {
    Lo,
    Hi,
    Wide,
}

fn half(mnemonic: &mut Mnemonic<'_>) -> Option<Half> {
    mnemonic.take_first(|suffix| match suffix {
        "lo" => Some(Half::Lo),
        "hi" => Some(Half::Hi),
        "wide" => Some(Half::Wide),
        _ => None,
    })
}

fn rounding(suffix: &str) -> Option<Rounding> {
    Some(match suffix {
        "rn" => Rounding::Rn,
        "rz" => Rounding::Rz,
        "rm" => Rounding::Rm,
        "rp" => Rounding::Rp,
        "rni" => Rounding::Rni,
        "rzi" => Rounding::Rzi,
        "rmi" => Rounding::Rmi,
        "rpi" => Rounding::Rpi,
        _ => return None,
    })
}

fn comparison(suffix: &str) -> Option<Comparison> {
    Some(match suffix {
        "eq" => Comparison::Eq,
        "ne" => Comparison::Ne,
        "lt" | "lo" => Comparison::Lt,
        "le" | "ls" => Comparison::Le,
        "gt" | "hi" => Comparison::Gt,
        "ge" | "hs" => Comparison::Ge,
        "equ" => Comparison::Equ,
        "neu" => Comparison::Neu,
        "ltu" => Comparison::Ltu,
        "leu" => Comparison::Leu,
        "gtu" => Comparison::Gtu,
        "geu" => Comparison::Geu,
        "num" => Comparison::Num,
        "nan" => Comparison::Nan,
        _ => return None,
    })
}
