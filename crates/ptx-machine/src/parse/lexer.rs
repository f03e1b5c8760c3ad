//! Text to tokens, each with its line.

use winnow::ascii::{line_ending, multispace1, till_line_ending};
use winnow::combinator::{alt, delimited, preceded, repeat};
use winnow::prelude::*;
use winnow::stream::Location;
use winnow::token::{any, one_of, take_until, take_while};
use winnow::{LocatingSlice, Result};

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, directive or mnemonic with its suffixes: `%tid.x`, `.reg`, `ld.param.v2.b32`.
    Word(String),
    /// A number as written: `128`, `0x7F`, `0f3F800000`.
    Number(String),
    /// A character between quotes, or the whole text between them.
    Text,
    /// Any other character.
    Mark(char),
}

/// A token and the line it stands on, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: u32,
}

type Input<'a> = LocatingSlice<&'a str>;

/// Every token of `text`; comments and white space are between them.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut input = LocatingSlice::new(text);
    let mut tokens = Vec::new();
    let (mut line, mut counted) = (1, 0);
    loop {
        // White space and comments can't fail to be absent.
        let _ = blank(&mut input);
        let start = input.current_token_start();
        line += text[counted..start].matches('\n').count() as u32;
        counted = start;
        match token(&mut input) {
            Ok(kind) => tokens.push(Token { kind, line }),
            Err(_) => return tokens,
        }
    }
}

fn blank(input: &mut Input<'_>) -> Result<()> {
    let line_comment = preceded("//", till_line_ending).void();
    let block_comment = ("/*", take_until(0.., "*/"), "*/").void();
    repeat(
        0..,
        alt((
            multispace1.void(),
            line_ending.void(),
            line_comment,
            block_comment,
        )),
    )
    .parse_next(input)
}

fn token(input: &mut Input<'_>) -> Result<Kind> {
    alt((
        delimited('"', take_while(0.., |c| c != '"'), '"').value(Kind::Text),
        number.map(|text: &str| Kind::Number(text.to_owned())),
        word.map(|text: &str| Kind::Word(text.to_owned())),
        any.map(Kind::Mark),
    ))
    .parse_next(input)
}

fn number<'a>(input: &mut Input<'a>) -> Result<&'a str> {
    (
        one_of('0'..='9'),
        take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '.'),
    )
        .take()
        .parse_next(input)
}

fn word<'a>(input: &mut Input<'a>) -> Result<&'a str> {
    let part = || {
        take_while(1.., |c: char| {
            c.is_ascii_alphanumeric() || "_$%.".contains(c)
        })
    };
    // `L2::128B` is one word; a single colon ends a label.
    let qualified = preceded("::", part()).void();
    (part(), repeat::<_, _, (), _, _>(0.., qualified))
        .take()
        .parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).into_iter().map(|token| token.kind).collect()
    }

    fn word(text: &str) -> Kind {
        Kind::Word(text.to_owned())
    }

    #[test]
    fn an_instruction_is_words_numbers_and_marks() {
        let number = Kind::Number("16".to_owned());
        assert_eq!(
            kinds("@%p1 cp.async.cg.shared.global.L2::128B [%r1+16], x;"),
            [
                Kind::Mark('@'),
                word("%p1"),
                word("cp.async.cg.shared.global.L2::128B"),
                Kind::Mark('['),
                word("%r1"),
                Kind::Mark('+'),
                number,
                Kind::Mark(']'),
                Kind::Mark(','),
                word("x"),
                Kind::Mark(';'),
            ]
        );
    }

    #[test]
    fn a_label_ends_at_its_colon() {
        assert_eq!(kinds("$L__BB0_2:"), [word("$L__BB0_2"), Kind::Mark(':')]);
    }

    #[test]
    fn comments_count_lines_and_give_no_tokens() {
        let tokens = tokens("// one\n/* two\nthree */ ret;\n\"a\"");
        let lines: Vec<_> = tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [3, 3, 4]);
        assert_eq!(tokens[2].kind, Kind::Text);
    }
}
