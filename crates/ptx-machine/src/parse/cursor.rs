//! A position in the tokens.

use super::{
    ParseError,
    literal::Literal,
    token::{Kind, Token},
};

/// Where parsing has come to.
pub(super) struct Cursor<'t, 's> {
    tokens: &'s [Token<'t>],
    position: usize,
}

impl<'t, 's> Cursor<'t, 's> {
    pub(super) fn new(tokens: &'s [Token<'t>]) -> Self {
        Self {
            tokens,
            position: 0,
        }
    }

    /// Line of the next token, or of the last at the end.
    pub(super) fn line(&self) -> u32 {
        self.tokens
            .get(self.position)
            .or(self.tokens.last())
            .map_or(1, |token| token.line)
    }

    pub(super) fn peek(&self) -> Option<Kind<'t>> {
        self.tokens.get(self.position).map(|token| token.kind)
    }

    /// The token after the next.
    pub(super) fn peek_second(&self) -> Option<Kind<'t>> {
        self.tokens.get(self.position + 1).map(|token| token.kind)
    }

    pub(super) fn advance(&mut self) {
        self.position += 1;
    }

    /// Passes over `mark` if it comes next.
    pub(super) fn accept(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(Kind::Mark(mark));
        self.position += usize::from(found);
        found
    }

    /// Passes over `mark`, which `expected` describes.
    pub(super) fn expect(&mut self, mark: char, expected: &'static str) -> Result<(), ParseError> {
        if self.accept(mark) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    pub(super) fn word(&mut self, expected: &'static str) -> Result<&'t str, ParseError> {
        let Some(Kind::Word(word)) = self.peek() else {
            return Err(self.unexpected(expected));
        };
        self.advance();
        Ok(word)
    }

    /// A non-negative integer of 32 bits.
    pub(super) fn integer(&mut self, expected: &'static str) -> Result<u32, ParseError> {
        if let Some(Kind::Number(Literal::Integer(value))) = self.peek()
            && let Ok(value) = u32::try_from(value)
        {
            self.advance();
            return Ok(value);
        }
        Err(self.unexpected(expected))
    }

    /// Passes over everything up to and with the next `mark`.
    pub(super) fn skip_past(&mut self, mark: char) {
        while self.peek().is_some() && !self.accept(mark) {
            self.advance();
        }
    }

    /// Passes over every other token of this line: debug directives have no end mark.
    pub(super) fn skip_line(&mut self, line: u32) {
        while self.peek().is_some() && self.line() == line {
            self.advance();
        }
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> ParseError {
        let found = self
            .peek()
            .map_or_else(|| "the end".to_owned(), |kind| kind.to_string());
        ParseError::Syntax {
            line: self.line(),
            expected,
            found,
        }
    }
}
