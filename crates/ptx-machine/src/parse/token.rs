//! Text to tokens, each with its line.
//!
//! An instruction's name is one token with all its suffixes, and so is `%tid.x`.

use std::fmt;

use winnow::{
    Parser, Result,
    ascii::{multispace1, till_line_ending},
    combinator::{alt, delimited, repeat},
    token::{one_of, take_till, take_until, take_while},
};

use super::{
    ParseError,
    literal::{Literal, literal},
};

/// The smallest unit of the grammar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'t> {
    /// A name: of an instruction, directive, register, label or symbol.
    Word(&'t str),
    /// A constant without its sign.
    Number(Literal),
    /// A quoted text, without the quotes.
    Text(&'t str),
    /// One of `PUNCTUATION`.
    Mark(char),
}

/// A token and its line, from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) line: u32,
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) => f.write_str(text),
            Self::Number(value) => value.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Mark(mark) => write!(f, "{mark}"),
        }
    }
}

const PUNCTUATION: [char; 17] = [
    '{', '}', '[', ']', '(', ')', '<', '>', ',', ';', ':', '@', '!', '|', '+', '-', '=',
];

/// All tokens of a text.
pub(super) fn tokens(text: &str) -> std::result::Result<Vec<Token<'_>>, ParseError> {
    let mut rest = text;
    let mut line = 1;
    let mut tokens = Vec::new();
    loop {
        line += newlines(space.parse_next(&mut rest).unwrap_or_default());
        if rest.is_empty() {
            return Ok(tokens);
        }
        let before = rest;
        let kind = token
            .parse_next(&mut rest)
            .map_err(|_| ParseError::Syntax {
                line,
                expected: "a name, a number or punctuation",
                found: before
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            })?;
        tokens.push(Token { kind, line });
        line += newlines(&before[..before.len() - rest.len()]);
    }
}

fn newlines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|&byte| byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// Whitespace and comments.
fn space<'t>(input: &mut &'t str) -> Result<&'t str> {
    let line_comment = ("//", till_line_ending).void();
    let block_comment = ("/*", take_until(0.., "*/"), "*/").void();
    repeat::<_, _, (), _, _>(0.., alt((multispace1.void(), line_comment, block_comment)))
        .take()
        .parse_next(input)
}

fn token<'t>(input: &mut &'t str) -> Result<Kind<'t>> {
    alt((
        literal.map(Kind::Number),
        word.map(Kind::Word),
        delimited('"', take_till(0.., '"'), '"').map(Kind::Text),
        one_of(PUNCTUATION).map(Kind::Mark),
    ))
    .parse_next(input)
}

/// `::` is part of a name (`L2::128B`), a single colon ends a label.
fn word<'t>(input: &mut &'t str) -> Result<&'t str> {
    let part = take_while(1.., |c: char| {
        c.is_ascii_alphanumeric() || "_$%.".contains(c)
    })
    .void();
    (
        one_of(|c: char| c.is_ascii_alphabetic() || "_$%.".contains(c)),
        repeat::<_, _, (), _, _>(0.., alt((part, "::".void()))),
    )
        .take()
        .parse_next(input)
}
