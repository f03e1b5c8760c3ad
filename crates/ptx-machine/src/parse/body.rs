//! The statements of a kernel: declarations, labels and instructions.

use super::{
    ParseError,
    cursor::Cursor,
    directive::{is_directive, shared_variable},
    instruction,
    operand::operands,
    scope::Scopes,
    suffix::scalar_type,
    token::Kind,
};
use crate::module::{
    Guard, Instruction, Op, Parameter, Register, RegisterClass, ScalarType, SharedSymbol,
};

/// A kernel's body, and what its instructions refer to by index.
pub(super) struct Body {
    pub(super) parameters: Vec<Parameter>,
    pub(super) registers: Vec<Register>,
    pub(super) shared: Vec<SharedSymbol>,
    pub(super) code: Vec<Instruction>,
}

/// A kernel's body while it is read.
pub(super) struct Building<'t> {
    pub(super) parameters: Vec<Parameter>,
    pub(super) shared: Vec<SharedSymbol>,
    pub(super) scopes: Scopes<'t>,
    pub(super) code: Vec<Instruction>,
    pub(super) branches: Vec<Branch<'t>>,
}

/// A branch whose label may come later.
pub(super) struct Branch<'t> {
    /// Index of the branch in the code.
    pub(super) instruction: usize,
    pub(super) label: &'t str,
    /// The block in braces that it stands in.
    pub(super) scope: usize,
}

/// Everything after a kernel's opening brace up to and with the closing one.
pub(super) fn body<'t>(
    cursor: &mut Cursor<'t, '_>,
    parameters: Vec<Parameter>,
    shared: Vec<SharedSymbol>,
) -> Result<Body, ParseError> {
    let (code, branches, scopes) = (Vec::new(), Vec::new(), Scopes::new());
    let mut building = Building {
        parameters,
        shared,
        scopes,
        code,
        branches,
    };
    loop {
        if cursor.accept('{') {
            building.scopes.open();
        } else if cursor.accept('}') {
            if !building.scopes.close() {
                break;
            }
        } else {
            statement(cursor, &mut building)?;
        }
    }
    resolve_branches(&mut building)?;
    let Building {
        parameters,
        shared,
        scopes,
        code,
        ..
    } = building;
    Ok(Body {
        parameters,
        registers: scopes.registers,
        shared,
        code,
    })
}

fn statement<'t>(
    cursor: &mut Cursor<'t, '_>,
    building: &mut Building<'t>,
) -> Result<(), ParseError> {
    let line = cursor.line();
    if is_directive(cursor.peek()) {
        return directive(cursor, building);
    }
    if let (Some(Kind::Word(name)), Some(Kind::Mark(':'))) = (cursor.peek(), cursor.peek_second()) {
        cursor.advance();
        cursor.advance();
        return building.scopes.label(name, building.code.len(), line);
    }
    let guard = if cursor.accept('@') {
        Some(guard(cursor, building)?)
    } else {
        None
    };
    let line = cursor.line();
    let name = cursor.word("a statement")?;
    let operands = operands(cursor)?;
    instruction::translate(building, instruction::Place { line, name, guard }, operands)
}

fn guard(cursor: &mut Cursor<'_, '_>, building: &Building<'_>) -> Result<Guard, ParseError> {
    let line = cursor.line();
    let negated = cursor.accept('!');
    let not_a_predicate = cursor.unexpected("a predicate");
    let name = cursor.word("a predicate")?;
    match building.scopes.register(name) {
        Some((predicate, RegisterClass::Predicate)) => Ok(Guard { predicate, negated }),
        Some(_) => Err(not_a_predicate),
        None => Err(ParseError::UnknownName {
            line,
            name: name.to_owned(),
        }),
    }
}

fn directive(cursor: &mut Cursor<'_, '_>, building: &mut Building<'_>) -> Result<(), ParseError> {
    let line = cursor.line();
    match cursor.word("a directive")? {
        ".reg" => registers(cursor, building),
        ".shared" => shared_variable(cursor, &mut building.shared),
        ".loc" => {
            cursor.skip_line(line);
            Ok(())
        }
        ".pragma" => {
            cursor.skip_past(';');
            Ok(())
        }
        other => Err(ParseError::Directive {
            line,
            directive: other.to_owned(),
        }),
    }
}

/// `.b32 %r<12>, %tmp;` after `.reg`; the first declares `%r0` to `%r11`.
fn registers(cursor: &mut Cursor<'_, '_>, building: &mut Building<'_>) -> Result<(), ParseError> {
    let line = cursor.line();
    let no_type = cursor.unexpected("the type of a register");
    let word = cursor.word("the type of a register")?;
    let class = word
        .strip_prefix('.')
        .and_then(scalar_type)
        .and_then(register_class);
    let class = class.ok_or(no_type)?;
    loop {
        let name = cursor.word("a register's name")?;
        if cursor.accept('<') {
            let count = cursor.integer("a number of registers")?;
            cursor.expect('>', "a closing angle bracket")?;
            for index in 0..count {
                building
                    .scopes
                    .declare(format!("{name}{index}"), class, line)?;
            }
        } else {
            building.scopes.declare(name.to_owned(), class, line)?;
        }
        if cursor.accept(';') {
            return Ok(());
        }
        cursor.expect(',', "a comma or a semicolon")?;
    }
}

/// The ISA has no registers of 8 bits.
fn register_class(ty: ScalarType) -> Option<RegisterClass> {
    match ty.bits() {
        1 => Some(RegisterClass::Predicate),
        16 => Some(RegisterClass::B16),
        32 => Some(RegisterClass::B32),
        64 => Some(RegisterClass::B64),
        _ => None,
    }
}

fn resolve_branches(building: &mut Building<'_>) -> Result<(), ParseError> {
    for branch in &building.branches {
        let instruction = &mut building.code[branch.instruction];
        let Some(found) = building.scopes.target(branch.label, branch.scope) else {
            let (line, label) = (instruction.line, branch.label.to_owned());
            return Err(ParseError::UnknownLabel { line, label });
        };
        if let Op::Branch { target, .. } = &mut instruction.op {
            *target = found;
        }
    }
    Ok(())
}
