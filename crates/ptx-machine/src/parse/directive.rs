//! Directives: the module, its kernels, parameters, registers and shared symbols.

use super::cursor::Cursor;
use super::instruction;
use super::lexer::{Kind, Token};
use super::mnemonic::scalar_type;
use super::operand::Scope;
use super::{ParseError, Problem};
use crate::module::{
    Instruction, Kernel, Module, Op, Parameter, RegisterClass, ScalarType, SharedSymbol,
};
use std::collections::HashMap;

pub(super) fn module(tokens: &[Token]) -> Result<Module, ParseError> {
    let mut cursor = Cursor::new(tokens);
    let mut module = Module {
        sm: 0,
        kernels: Vec::new(),
    };
    let mut shared = Vec::new();
    while !cursor.is_done() {
        let line = cursor.line();
        match cursor.word()? {
            ".version" | ".address_size" => {
                cursor.next();
            }
            ".target" => module.sm = target(&mut cursor)?,
            ".visible" | ".extern" | ".weak" => {}
            ".entry" => module.kernels.push(kernel(&mut cursor, &shared)?),
            ".shared" => shared.push(shared_symbol(&mut cursor)?),
            ".file" => cursor.skip_line(),
            ".section" => cursor.skip_past('}'),
            name if name.starts_with('.') => {
                let name = name.to_owned();
                return Err(ParseError::new(line, Problem::Directive { name }));
            }
            name => {
                let (expected, found) = ("a directive".to_owned(), format!("`{name}`"));
                return Err(ParseError::new(line, Problem::Syntax { expected, found }));
            }
        }
    }
    Ok(module)
}

fn target(cursor: &mut Cursor<'_>) -> Result<u32, ParseError> {
    let error = cursor.unexpected("sm_ and a number");
    let digits: String = cursor
        .word()?
        .strip_prefix("sm_")
        .unwrap_or_default()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    while cursor.accept(',') {
        cursor.word()?;
    }
    digits.parse().map_err(|_| error)
}

/// `.align 16 .b8 name[bytes]` and a `;`.
fn shared_symbol(cursor: &mut Cursor<'_>) -> Result<SharedSymbol, ParseError> {
    let align = if cursor.accept_word(".align") {
        cursor.size()?
    } else {
        1
    };
    let element = bytes(data_type(cursor)?);
    let name = cursor.word()?.to_owned();
    let bytes = match array(cursor)? {
        None => Some(element),
        Some(count) => count.map(|count| count * element),
    };
    cursor.expect(';')?;
    let align = align.max(element);
    Ok(SharedSymbol { name, align, bytes })
}

/// `[12]` as 12, `[]` as no number; nothing where there are no brackets.
fn array(cursor: &mut Cursor<'_>) -> Result<Option<Option<u32>>, ParseError> {
    if !cursor.accept('[') {
        return Ok(None);
    }
    if cursor.accept(']') {
        return Ok(Some(None));
    }
    let count = cursor.size()?;
    cursor.expect(']')?;
    Ok(Some(Some(count)))
}

fn data_type(cursor: &mut Cursor<'_>) -> Result<ScalarType, ParseError> {
    let error = cursor.unexpected("a type");
    scalar_type(cursor.word()?.trim_start_matches('.')).ok_or(error)
}

fn bytes(ty: ScalarType) -> u32 {
    ty.bits().div_ceil(8)
}

/// What is behind `.entry`.
fn kernel(cursor: &mut Cursor<'_>, shared: &[SharedSymbol]) -> Result<Kernel, ParseError> {
    let name = cursor.word()?.to_owned();
    let mut scope = Scope::default();
    scope.shared = shared.to_vec();
    if cursor.accept('(') && !cursor.accept(')') {
        scope.parameters = parameters(cursor)?;
    }
    let mut required_threads = None;
    while !cursor.accept('{') {
        let line = cursor.line();
        match cursor.word()? {
            ".reqntid" => required_threads = Some(triple(cursor)?),
            ".maxntid" | ".minnctapersm" | ".maxnreg" => drop(triple(cursor)?),
            other => {
                let name = other.to_owned();
                return Err(ParseError::new(line, Problem::Directive { name }));
            }
        }
    }
    let code = body(cursor, &mut scope)?;
    Ok(Kernel {
        name,
        parameters: scope.parameters,
        required_threads,
        registers: scope.registers,
        shared: scope.shared,
        code,
    })
}

/// Up to three numbers; the missing ones are 1.
fn triple(cursor: &mut Cursor<'_>) -> Result<[u32; 3], ParseError> {
    let mut sizes = [cursor.size()?, 1, 1];
    for size in &mut sizes[1..] {
        if cursor.accept(',') {
            *size = cursor.size()?;
        }
    }
    Ok(sizes)
}

/// `.param .u64 .ptr .global .align 1 name, ...` and a `)`.
fn parameters(cursor: &mut Cursor<'_>) -> Result<Vec<Parameter>, ParseError> {
    let mut parameters = Vec::new();
    let mut end = 0_u32;
    loop {
        let (mut align, mut element, mut name) = (1, 1, None);
        // `.align` behind `.ptr` is that of what the pointer points at.
        let mut pointer = false;
        while name.is_none() {
            match cursor.word()? {
                ".param" => {}
                ".ptr" => pointer = true,
                ".global" | ".shared" | ".const" | ".local" if pointer => {}
                ".align" if pointer => drop(cursor.size()?),
                ".align" => align = cursor.size()?,
                word => match scalar_type(word.trim_start_matches('.')) {
                    Some(ty) => element = bytes(ty),
                    None => name = Some(word.to_owned()),
                },
            }
        }
        let count = array(cursor)?.flatten().unwrap_or(1);
        let (bytes, align) = (count * element, align.max(element));
        let offset = end.next_multiple_of(align);
        end = offset + bytes;
        parameters.push(Parameter {
            name: name.unwrap_or_default(),
            offset,
            bytes,
            align,
        });
        if cursor.accept(')') {
            return Ok(parameters);
        }
        cursor.expect(',')?;
    }
}

/// What is behind the kernel's `{`, up to its `}`.
fn body(cursor: &mut Cursor<'_>, scope: &mut Scope) -> Result<Vec<Instruction>, ParseError> {
    let mut code = Vec::new();
    let mut labels: HashMap<String, usize> = HashMap::new();
    // Branches whose label may come later, with the label.
    let mut branches: Vec<(usize, String)> = Vec::new();
    scope.enter();
    while scope.depth() > 0 {
        let line = cursor.line();
        match (cursor.peek(), cursor.peek_second()) {
            (Some(Kind::Mark('{')), _) => {
                cursor.next();
                scope.enter();
            }
            (Some(Kind::Mark('}')), _) => {
                cursor.next();
                scope.leave();
            }
            (Some(Kind::Word(label)), Some(Kind::Mark(':'))) => {
                cursor.next();
                cursor.next();
                if labels.insert(label.clone(), code.len()).is_some() {
                    let name = label.clone();
                    return Err(ParseError::new(line, Problem::Twice { name }));
                }
            }
            (Some(Kind::Word(word)), _) if word.starts_with('.') => {
                cursor.next();
                local_directive(word, cursor, scope, line)?;
            }
            _ => {
                let (instruction, label) = instruction::parse(cursor, scope)?;
                branches.extend(label.map(|label| (code.len(), label)));
                code.push(instruction);
            }
        }
    }
    for (at, label) in branches {
        let line = code[at].line;
        let Some(&place) = labels.get(&label) else {
            return Err(ParseError::new(line, Problem::Undeclared { name: label }));
        };
        if let Op::Branch { target, .. } = &mut code[at].op {
            *target = place;
        }
    }
    Ok(code)
}

fn local_directive(
    word: &str,
    cursor: &mut Cursor<'_>,
    scope: &mut Scope,
    line: u32,
) -> Result<(), ParseError> {
    match word {
        ".reg" => registers(cursor, scope),
        ".shared" => {
            let symbol = shared_symbol(cursor)?;
            scope.shared.push(symbol);
            Ok(())
        }
        ".loc" => {
            cursor.skip_line();
            Ok(())
        }
        ".pragma" => {
            cursor.skip_past(';');
            Ok(())
        }
        _ => {
            let name = word.to_owned();
            Err(ParseError::new(line, Problem::Directive { name }))
        }
    }
}

/// `.b32 %r<5>;` or `.pred p, q;`
fn registers(cursor: &mut Cursor<'_>, scope: &mut Scope) -> Result<(), ParseError> {
    let line = cursor.line();
    let ty = data_type(cursor)?;
    let class = match ty.bits() {
        1 => RegisterClass::Predicate,
        8 | 16 => RegisterClass::B16,
        32 => RegisterClass::B32,
        _ => RegisterClass::B64,
    };
    loop {
        let name = cursor.word()?;
        if cursor.accept('<') {
            let count = cursor.size()?;
            cursor.expect('>')?;
            for index in 0..count {
                scope.declare(format!("{name}{index}"), class, line)?;
            }
        } else {
            scope.declare(name.to_owned(), class, line)?;
        }
        if cursor.accept(';') {
            return Ok(());
        }
        cursor.expect(',')?;
    }
}
