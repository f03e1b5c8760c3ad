//! One instruction: its guard, its name, its operands.

use super::cursor::Cursor;
use super::mnemonic::Mnemonic;
use super::operand::{Scope, Written};
use super::{ParseError, Problem, arithmetic, memory, warp};
use crate::module::{Address, Guard, Instruction, Op, Operand, RegisterId};

/// The operands of an instruction, with its name for errors.
pub(super) struct Operands<'a> {
    pub(super) written: Vec<Written>,
    name: &'a str,
    line: u32,
}

impl Operands<'_> {
    pub(super) fn len(&self) -> usize {
        self.written.len()
    }

    /// A register or number.
    pub(super) fn value(&self, at: usize) -> Result<Operand, ParseError> {
        match self.written.get(at) {
            Some(Written::Value(value)) => Ok(*value),
            _ => Err(self.wrong(at, "a register or number")),
        }
    }

    pub(super) fn register(&self, at: usize) -> Result<RegisterId, ParseError> {
        match self.value(at) {
            Ok(Operand::Register(register)) => Ok(register),
            _ => Err(self.wrong(at, "a register")),
        }
    }

    /// A predicate, and whether it is negated.
    pub(super) fn predicate(&self, at: usize) -> Result<(RegisterId, bool), ParseError> {
        match self.written.get(at) {
            Some(Written::Negated(register)) => Ok((*register, true)),
            _ => self.register(at).map(|register| (register, false)),
        }
    }

    pub(super) fn address(&self, at: usize) -> Result<Address, ParseError> {
        match self.written.get(at) {
            Some(Written::Address(address)) => Ok(*address),
            _ => Err(self.wrong(at, "an address")),
        }
    }

    /// The elements of a vector; a single operand is a vector of one.
    pub(super) fn elements(&self, at: usize) -> Result<Vec<Operand>, ParseError> {
        match self.written.get(at) {
            Some(Written::Vector(elements)) => elements
                .iter()
                .map(|element| match element {
                    Written::Value(value) => Ok(*value),
                    _ => Err(self.wrong(at, "a vector of registers")),
                })
                .collect(),
            _ => self.value(at).map(|value| vec![value]),
        }
    }

    /// Like [`elements`](Self::elements), registers alone.
    pub(super) fn registers(&self, at: usize) -> Result<Vec<RegisterId>, ParseError> {
        let register = |operand: Operand| match operand {
            Operand::Register(register) => Ok(register),
            _ => Err(self.wrong(at, "a vector of registers")),
        };
        self.elements(at)?.into_iter().map(register).collect()
    }

    pub(super) fn expect(
        &self,
        mnemonic: &Mnemonic<'_>,
        counts: &[usize],
    ) -> Result<(), ParseError> {
        if counts.contains(&self.len()) {
            return Ok(());
        }
        let expected: Vec<String> = counts.iter().map(usize::to_string).collect();
        Err(mnemonic.operands(expected.join(" or "), self.len()))
    }

    fn wrong(&self, at: usize, expected: &str) -> ParseError {
        let expected = format!("{expected} as operand {} of {}", at + 1, self.name);
        let found = match self.written.get(at) {
            Some(Written::Value(_)) => "another operand",
            Some(Written::Negated(_)) => "a negated predicate",
            Some(Written::Address(_)) => "an address",
            Some(Written::Vector(_)) => "a vector",
            None => "none",
        };
        let found = found.to_owned();
        ParseError::new(self.line, Problem::Syntax { expected, found })
    }
}

/// The next instruction, and the label that it branches to.
pub(super) fn parse(
    cursor: &mut Cursor<'_>,
    scope: &Scope,
) -> Result<(Instruction, Option<String>), ParseError> {
    let line = cursor.line();
    let guard = guard(cursor, scope)?;
    let name = cursor.word()?;
    let mut mnemonic = Mnemonic::new(name, line);
    let (op, label) = match mnemonic.base {
        "bra" => {
            let uniform = mnemonic.take("uni");
            mnemonic.finish()?;
            let label = cursor.word()?.to_owned();
            cursor.expect(';')?;
            let target = usize::MAX;
            (Op::Branch { target, uniform }, Some(label))
        }
        _ => {
            let operands = Operands {
                written: scope.operands(cursor)?,
                name,
                line,
            };
            (op(&mut mnemonic, &operands)?, None)
        }
    };
    let name = name.to_owned();
    let instruction = Instruction {
        line,
        name,
        guard,
        op,
    };
    Ok((instruction, label))
}

fn guard(cursor: &mut Cursor<'_>, scope: &Scope) -> Result<Option<Guard>, ParseError> {
    if !cursor.accept('@') {
        return Ok(None);
    }
    let negated = cursor.accept('!');
    let predicate = scope.named_register(cursor)?;
    Ok(Some(Guard { predicate, negated }))
}

fn op(mnemonic: &mut Mnemonic<'_>, operands: &Operands<'_>) -> Result<Op, ParseError> {
    let op = match mnemonic.base {
        "ret" | "exit" => {
            operands.expect(mnemonic, &[0])?;
            mnemonic.ignore(|suffix| suffix == "uni");
            Op::Return
        }
        "ld" | "st" => memory::load_or_store(mnemonic, operands)?,
        "atom" | "red" => memory::atomic(mnemonic, operands)?,
        "cp" => memory::async_copy(mnemonic, operands)?,
        "bar" | "barrier" => warp::barrier(mnemonic, operands)?,
        "membar" | "fence" => {
            mnemonic.ignore(|_| true);
            operands.expect(mnemonic, &[0])?;
            Op::Fence
        }
        "shfl" => warp::shuffle(mnemonic, operands)?,
        "vote" => warp::vote(mnemonic, operands)?,
        "ldmatrix" | "stmatrix" => warp::matrix(mnemonic, operands)?,
        "mma" => warp::mma(mnemonic, operands)?,
        _ => return arithmetic::alu(mnemonic, operands),
    };
    mnemonic.finish()?;
    Ok(op)
}
