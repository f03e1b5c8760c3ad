//! The grammar of operands; names are resolved later, when the instruction's types are known.

use std::fmt;

use super::{ParseError, cursor::Cursor, literal::Literal, token::Kind};

/// An operand as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Written<'t> {
    /// A register or symbol, plus bytes for a symbol.
    Name { name: &'t str, offset: i64 },
    /// A constant.
    Number { literal: Literal, negative: bool },
    /// `{a, b}`.
    Vector(Vec<Written<'t>>),
    /// `[base + offset]`.
    Address { base: Box<Written<'t>>, offset: i64 },
    /// `p|q`: two destinations.
    Pair(&'t str, &'t str),
    /// `!p`.
    Not(&'t str),
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, offset: 0 } => f.write_str(name),
            Self::Name { name, offset } => write!(f, "{name}{offset:+}"),
            Self::Number {
                literal,
                negative: false,
            } => literal.fmt(f),
            Self::Number {
                literal,
                negative: true,
            } => write!(f, "-{literal}"),
            Self::Vector(elements) => {
                let elements: Vec<_> = elements.iter().map(ToString::to_string).collect();
                write!(f, "{{{}}}", elements.join(", "))
            }
            Self::Address { base, offset } => write!(f, "[{base}{offset:+}]"),
            Self::Pair(first, second) => write!(f, "{first}|{second}"),
            Self::Not(name) => write!(f, "!{name}"),
        }
    }
}

const EXPECTED: &str = "an operand";

/// The operands of an instruction up to and with its semicolon.
pub(super) fn operands<'t>(cursor: &mut Cursor<'t, '_>) -> Result<Vec<Written<'t>>, ParseError> {
    list(cursor, ';', "a comma or a semicolon")
}

fn list<'t>(
    cursor: &mut Cursor<'t, '_>,
    end: char,
    expected: &'static str,
) -> Result<Vec<Written<'t>>, ParseError> {
    let mut found = Vec::new();
    if cursor.accept(end) {
        return Ok(found);
    }
    loop {
        found.push(operand(cursor)?);
        if cursor.accept(end) {
            return Ok(found);
        }
        cursor.expect(',', expected)?;
    }
}

fn operand<'t>(cursor: &mut Cursor<'t, '_>) -> Result<Written<'t>, ParseError> {
    if cursor.accept('{') {
        return Ok(Written::Vector(list(
            cursor,
            '}',
            "a comma or a closing brace",
        )?));
    }
    if cursor.accept('[') {
        let base = Box::new(simple(cursor)?);
        let offset = offset(cursor)?;
        cursor.expect(']', "a closing bracket")?;
        return Ok(Written::Address { base, offset });
    }
    if cursor.accept('!') {
        return Ok(Written::Not(cursor.word("a predicate")?));
    }
    match simple(cursor)? {
        Written::Name { name, .. } if cursor.accept('|') => {
            Ok(Written::Pair(name, cursor.word("a predicate")?))
        }
        Written::Name { name, .. } => Ok(Written::Name {
            name,
            offset: offset(cursor)?,
        }),
        other => Ok(other),
    }
}

/// A name or a signed constant.
fn simple<'t>(cursor: &mut Cursor<'t, '_>) -> Result<Written<'t>, ParseError> {
    let negative = cursor.accept('-');
    match cursor.peek() {
        Some(Kind::Number(literal)) => {
            cursor.advance();
            Ok(Written::Number { literal, negative })
        }
        Some(Kind::Word("WARP_SZ")) if !negative => {
            cursor.advance();
            Ok(Written::Number {
                literal: Literal::Integer(32),
                negative,
            })
        }
        Some(Kind::Word(name)) if !negative => {
            cursor.advance();
            Ok(Written::Name { name, offset: 0 })
        }
        _ => Err(cursor.unexpected(EXPECTED)),
    }
}

/// `+8`, `-8` or `+-8`; nothing is 0.
fn offset(cursor: &mut Cursor<'_, '_>) -> Result<i64, ParseError> {
    let plus = cursor.accept('+');
    let minus = cursor.accept('-');
    if !plus && !minus {
        return Ok(0);
    }
    if let Some(Kind::Number(Literal::Integer(value))) = cursor.peek()
        && let Ok(value) = i64::try_from(value)
    {
        cursor.advance();
        return Ok(if minus { -value } else { value });
    }
    Err(cursor.unexpected("an offset in bytes"))
}
