//! One instruction: its name and operands as written, to [`Op`]s.
//!
//! Each file takes the instructions of one family. An instruction with two results that the IR
//! holds one by one (`setp p|q`, `mov {a, b}, c`) becomes two of the same line and name.

mod arithmetic;
mod atomic;
mod bits;
mod call;
mod control;
mod convert;
mod copy;
mod memory;
mod resolve;
mod select;
mod warp;

use call::Call;

use super::{ParseError, body::Building, operand::Written, suffix::Suffixes};
use crate::module::Guard;

/// What stands before an instruction's operands.
pub(super) struct Place<'t> {
    pub(super) line: u32,
    pub(super) name: &'t str,
    pub(super) guard: Option<Guard>,
}

/// Appends an instruction to the code of `building`.
pub(super) fn translate<'t>(
    building: &mut Building<'t>,
    place: Place<'t>,
    operands: Vec<Written<'t>>,
) -> Result<(), ParseError> {
    let (base, suffixes) = Suffixes::split(place.name);
    let call = Call {
        place,
        suffixes,
        operands,
        building,
    };
    match base {
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "abs" | "neg" | "min" | "max" => {
            arithmetic::translate(call, base)
        }
        "ex2" | "lg2" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "tanh" => {
            arithmetic::function(call, base)
        }
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "popc" | "clz" | "brev"
        | "bfe" | "bfi" | "prmt" | "lop3" => bits::translate(call, base),
        "setp" => select::setp(call),
        "selp" => select::selp(call),
        "mov" => convert::mov(call),
        "cvt" => convert::cvt(call),
        "cvta" => convert::cvta(call),
        "ld" => memory::load(call),
        "st" => memory::store(call),
        "atom" => atomic::atom(call),
        "red" => atomic::red(call),
        "cp" => copy::translate(call),
        "ldmatrix" => warp::ldmatrix(call),
        "stmatrix" => warp::stmatrix(call),
        "mma" => warp::mma(call),
        "shfl" => warp::shfl(call),
        "vote" => warp::vote(call),
        "bar" | "barrier" => control::barrier(call, base),
        "membar" | "fence" => control::fence(call, base),
        "bra" => control::bra(call),
        "ret" | "exit" => control::ret(call),
        _ => Err(call.unsupported()),
    }
}
