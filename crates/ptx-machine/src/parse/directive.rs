//! Module-level directives: target, shared variables and the headers of kernels.

use super::{
    ParseError,
    body::{Body, body},
    cursor::Cursor,
    suffix::scalar_type,
    token::{Kind, Token},
};
use crate::module::{Kernel, Module, Parameter, ScalarType, SharedSymbol};

/// A whole module.
pub(super) fn module(tokens: &[Token<'_>]) -> Result<Module, ParseError> {
    let mut cursor = Cursor::new(tokens);
    let mut sm = None;
    let mut shared = Vec::new();
    let mut kernels = Vec::new();
    while cursor.peek().is_some() {
        let line = cursor.line();
        let word = cursor.word("a directive")?;
        match word {
            ".version" | ".address_size" | ".file" => cursor.skip_line(line),
            ".target" => sm = Some(target(&mut cursor, line)?),
            ".section" => cursor.skip_past('}'),
            ".pragma" => cursor.skip_past(';'),
            ".visible" | ".weak" | ".extern" => {}
            ".shared" => shared_variable(&mut cursor, &mut shared)?,
            ".entry" => {
                kernels.push(kernel(&mut cursor, shared.clone())?);
            }
            _ => {
                return Err(ParseError::Directive {
                    line,
                    directive: word.to_owned(),
                });
            }
        }
    }
    Ok(Module {
        sm: sm.ok_or(ParseError::NoTarget)?,
        kernels,
    })
}

/// `sm_80`, `sm_90a`, with options after commas.
fn target(cursor: &mut Cursor<'_, '_>, line: u32) -> Result<u32, ParseError> {
    let expected = "a target of the form sm_NN";
    let unexpected = cursor.unexpected(expected);
    let name = cursor.word(expected)?;
    let digits = name
        .strip_prefix("sm_")
        .map(|rest| rest.trim_end_matches(['a', 'f']));
    let sm = digits
        .and_then(|digits| digits.parse().ok())
        .ok_or(unexpected)?;
    cursor.skip_line(line);
    Ok(sm)
}

/// `.align 16 .b8 name[4][64];` after `.shared`; empty brackets are the dynamic memory.
pub(super) fn shared_variable(
    cursor: &mut Cursor<'_, '_>,
    shared: &mut Vec<SharedSymbol>,
) -> Result<(), ParseError> {
    let line = cursor.line();
    let variable = variable(cursor)?;
    cursor.expect(';', "a semicolon after a shared variable")?;
    let Variable {
        name, align, bytes, ..
    } = variable;
    if shared.iter().any(|symbol| symbol.name == name) {
        return Err(ParseError::Duplicate { line, name });
    }
    shared.push(SharedSymbol { name, align, bytes });
    Ok(())
}

fn kernel(cursor: &mut Cursor<'_, '_>, shared: Vec<SharedSymbol>) -> Result<Kernel, ParseError> {
    let name = cursor.word("the kernel's name")?.to_owned();
    let parameters = if cursor.accept('(') {
        parameters(cursor)?
    } else {
        Vec::new()
    };
    let mut required_threads = None;
    while !cursor.accept('{') {
        let line = cursor.line();
        match cursor.word("a directive or the kernel's body")? {
            ".reqntid" => required_threads = Some(extent(cursor)?),
            ".maxntid" => {
                extent(cursor)?;
            }
            ".minnctapersm" | ".maxnreg" => {
                cursor.integer("a number")?;
            }
            ".pragma" => cursor.skip_past(';'),
            other => {
                return Err(ParseError::Directive {
                    line,
                    directive: other.to_owned(),
                });
            }
        }
    }
    let Body {
        parameters,
        registers,
        shared,
        code,
    } = body(cursor, parameters, shared)?;
    Ok(Kernel {
        name,
        parameters,
        required_threads,
        registers,
        shared,
        code,
    })
}

/// One to three numbers; the missing ones are 1.
fn extent(cursor: &mut Cursor<'_, '_>) -> Result<[u32; 3], ParseError> {
    let mut extent = [1; 3];
    for (axis, size) in extent.iter_mut().enumerate() {
        if axis > 0 && !cursor.accept(',') {
            break;
        }
        *size = cursor.integer("a number of threads")?;
    }
    Ok(extent)
}

fn parameters(cursor: &mut Cursor<'_, '_>) -> Result<Vec<Parameter>, ParseError> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut end = 0u32;
    if cursor.accept(')') {
        return Ok(parameters);
    }
    loop {
        let line = cursor.line();
        if cursor.word("a parameter")? != ".param" {
            return Err(ParseError::Syntax {
                line,
                expected: "a parameter",
                found: "something else".to_owned(),
            });
        }
        let unsized_array = cursor.unexpected("a parameter of known size");
        let Variable {
            name, align, bytes, ..
        } = variable(cursor)?;
        let bytes = bytes.ok_or(unsized_array)?;
        if parameters.iter().any(|parameter| parameter.name == name) {
            return Err(ParseError::Duplicate { line, name });
        }
        let offset = end.next_multiple_of(align);
        end = offset.saturating_add(bytes);
        parameters.push(Parameter {
            name,
            offset,
            bytes,
            align,
        });
        if cursor.accept(')') {
            return Ok(parameters);
        }
        cursor.expect(',', "a comma or a closing parenthesis")?;
    }
}

struct Variable {
    name: String,
    align: u32,
    /// `None` for `name[]`.
    bytes: Option<u32>,
}

/// Alignment, type, pointer attributes, name and extents, in that order.
///
/// `.ptr` and what follows it describe what a parameter points to, which the machine does not need.
fn variable(cursor: &mut Cursor<'_, '_>) -> Result<Variable, ParseError> {
    let mut align = None;
    let mut pointee = false;
    let mut ty: Option<ScalarType> = None;
    let name = loop {
        let line = cursor.line();
        let word = cursor.word("a variable's name")?;
        let Some(attribute) = word.strip_prefix('.') else {
            break word;
        };
        match attribute {
            "align" => {
                let bytes = cursor.integer("an alignment")?;
                if !bytes.is_power_of_two() {
                    return Err(cursor.unexpected("an alignment that is a power of two"));
                }
                if !pointee {
                    align = Some(bytes);
                }
            }
            "ptr" => pointee = true,
            "global" | "shared" | "const" | "local" if pointee => {}
            _ => match scalar_type(attribute) {
                Some(found) => ty = Some(found),
                None => {
                    return Err(ParseError::Directive {
                        line,
                        directive: word.to_owned(),
                    });
                }
            },
        }
    };
    let element = ty
        .ok_or_else(|| cursor.unexpected("a variable with a type"))?
        .bits()
        .div_ceil(8);
    let mut bytes = Some(element);
    while cursor.accept('[') {
        if cursor.accept(']') {
            bytes = None;
            continue;
        }
        let too_large = cursor.unexpected("an array smaller than 4 GiB");
        let extent = cursor.integer("an array's extent")?;
        cursor.expect(']', "a closing bracket")?;
        bytes = match bytes {
            Some(bytes) => Some(bytes.checked_mul(extent).ok_or(too_large)?),
            None => None,
        };
    }
    Ok(Variable {
        name: name.to_owned(),
        align: align.unwrap_or(element),
        bytes,
    })
}

/// Whether a token starts a directive.
pub(super) fn is_directive(kind: Option<Kind<'_>>) -> bool {
    matches!(kind, Some(Kind::Word(word)) if word.starts_with('.'))
}
