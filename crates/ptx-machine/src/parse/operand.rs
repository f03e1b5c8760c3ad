//! Operands: registers, numbers, addresses, vectors.

use super::cursor::Cursor;
use super::lexer::Kind;
use super::{ParseError, Problem};
use crate::module::{
    Address, AddressBase, Axis, Comparison, Operand, Parameter, Register, RegisterClass,
    RegisterId, SharedSymbol, Special,
};
use std::collections::HashMap;

/// An operand as it is written.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Value(Operand),
    /// `!%p`.
    Negated(RegisterId),
    Address(Address),
    Vector(Vec<Written>),
}

/// The names that an instruction may use.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) registers: Vec<Register>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) shared: Vec<SharedSymbol>,
    /// Names of registers, innermost block last.
    blocks: Vec<HashMap<String, RegisterId>>,
}

impl Scope {
    pub(super) fn enter(&mut self) {
        self.blocks.push(HashMap::new());
    }

    /// Whether there was a block to leave.
    pub(super) fn leave(&mut self) -> bool {
        self.blocks.pop().is_some()
    }

    pub(super) fn depth(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn declare(
        &mut self,
        name: String,
        class: RegisterClass,
        line: u32,
    ) -> Result<(), ParseError> {
        let id = RegisterId(self.registers.len() as u32);
        if let Some(block) = self.blocks.last_mut()
            && block.insert(name.clone(), id).is_some()
        {
            return Err(ParseError::new(line, Problem::Twice { name }));
        }
        self.registers.push(Register { name, class });
        Ok(())
    }

    fn register(&self, name: &str) -> Option<RegisterId> {
        self.blocks
            .iter()
            .rev()
            .find_map(|block| block.get(name).copied())
    }

    fn parameter(&self, name: &str) -> Option<u32> {
        let at = self.parameters.iter().position(|p| p.name == name)?;
        Some(at as u32)
    }

    fn symbol(&self, name: &str) -> Option<u32> {
        let at = self.shared.iter().position(|s| s.name == name)?;
        Some(at as u32)
    }

    /// The operands up to the `;`, which is taken.
    pub(super) fn operands(&self, cursor: &mut Cursor<'_>) -> Result<Vec<Written>, ParseError> {
        let mut operands = Vec::new();
        if cursor.accept(';') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(cursor)?);
            if cursor.accept(';') {
                return Ok(operands);
            }
            // `|` joins the two results of setp and shfl.
            if !cursor.accept('|') {
                cursor.expect(',')?;
            }
        }
    }

    fn operand(&self, cursor: &mut Cursor<'_>) -> Result<Written, ParseError> {
        if cursor.accept('{') {
            let mut elements = vec![self.operand(cursor)?];
            while cursor.accept(',') {
                elements.push(self.operand(cursor)?);
            }
            cursor.expect('}')?;
            return Ok(Written::Vector(elements));
        }
        if cursor.accept('[') {
            return self.address(cursor).map(Written::Address);
        }
        if cursor.accept('!') {
            return self.named_register(cursor).map(Written::Negated);
        }
        self.value(cursor).map(Written::Value)
    }

    pub(super) fn named_register(&self, cursor: &mut Cursor<'_>) -> Result<RegisterId, ParseError> {
        let line = cursor.line();
        let name = cursor.word()?;
        self.register(name).ok_or_else(|| undeclared(name, line))
    }

    fn value(&self, cursor: &mut Cursor<'_>) -> Result<Operand, ParseError> {
        if let Some(bits) = number(cursor)? {
            return Ok(Operand::Immediate(bits));
        }
        let line = cursor.line();
        let name = cursor.word()?;
        if let Some(register) = self.register(name) {
            return Ok(Operand::Register(register));
        }
        if let Some(special) = special(name) {
            return Ok(Operand::Special(special));
        }
        if let Some(symbol) = self.symbol(name) {
            let offset = offset(cursor)?;
            return Ok(Operand::SharedAddress { symbol, offset });
        }
        if name == "WARP_SZ" {
            return Ok(Operand::Immediate(crate::alu::LANES as u64));
        }
        Err(undeclared(name, line))
    }

    /// What is behind a `[`, up to the `]`, which is taken.
    fn address(&self, cursor: &mut Cursor<'_>) -> Result<Address, ParseError> {
        let parameter = match cursor.peek() {
            Some(Kind::Word(name)) => self.parameter(name),
            _ => None,
        };
        let base = match parameter {
            Some(parameter) => {
                cursor.next();
                AddressBase::Parameter(parameter)
            }
            None => AddressBase::Operand(self.value(cursor)?),
        };
        let offset = offset(cursor)?;
        cursor.expect(']')?;
        Ok(Address { base, offset })
    }
}

/// `+8`, `-8`, `+-8` or nothing.
fn offset(cursor: &mut Cursor<'_>) -> Result<i64, ParseError> {
    let plus = cursor.accept('+');
    match number(cursor)? {
        Some(bits) => Ok(bits as i64),
        None if plus => Err(cursor.unexpected("a number")),
        None => Ok(0),
    }
}

/// A number's bits, if one is next: integers as 64-bit two's complement, `0f` and `0d` as they are.
fn number(cursor: &mut Cursor<'_>) -> Result<Option<u64>, ParseError> {
    let negative = cursor.peek() == Some(&Kind::Mark('-'));
    let written = if negative {
        cursor.peek_second()
    } else {
        cursor.peek()
    };
    let Some(Kind::Number(text)) = written else {
        return Ok(None);
    };
    let digits = text.trim_end_matches(['u', 'U']);
    let radix = |prefix: &str, radix| {
        digits
            .strip_prefix(prefix)
            .map(|digits| u64::from_str_radix(digits, radix))
    };
    let parsed = ["0x", "0X", "0f", "0F", "0d", "0D"]
        .into_iter()
        .find_map(|prefix| radix(prefix, 16))
        .or_else(|| radix("0b", 2))
        .unwrap_or_else(|| digits.parse());
    let Ok(bits) = parsed else {
        return Err(cursor.unexpected("a number"));
    };
    if negative {
        cursor.next();
    }
    cursor.next();
    Ok(Some(if negative { bits.wrapping_neg() } else { bits }))
}

fn undeclared(name: &str, line: u32) -> ParseError {
    let name = name.to_owned();
    ParseError::new(line, Problem::Undeclared { name })
}

fn special(name: &str) -> Option<Special> {
    let (register, axis) = match name.rsplit_once('.') {
        Some((register, "x")) => (register, Axis::X),
        Some((register, "y")) => (register, Axis::Y),
        Some((register, "z")) => (register, Axis::Z),
        Some(_) => return None,
        None => {
            return Some(match name {
                "%laneid" => Special::Lane,
                "%warpid" => Special::Warp,
                "%lanemask_eq" => Special::LaneMask(Comparison::Eq),
                "%lanemask_lt" => Special::LaneMask(Comparison::Lt),
                "%lanemask_le" => Special::LaneMask(Comparison::Le),
                "%lanemask_gt" => Special::LaneMask(Comparison::Gt),
                "%lanemask_ge" => Special::LaneMask(Comparison::Ge),
                "%clock" | "%clock64" => Special::Clock,
                _ => return None,
            });
        }
    };
    Some(match register {
        "%tid" => Special::ThreadId(axis),
        "%ntid" => Special::Threads(axis),
        "%ctaid" => Special::BlockId(axis),
        "%nctaid" => Special::Blocks(axis),
        _ => return None,
    })
}
