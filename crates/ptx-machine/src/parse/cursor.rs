//! A place in the tokens, and what may be expected there.

use super::lexer::{Kind, Token};
use super::{ParseError, Problem};

/// A place in the tokens.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens, at: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// The line of the next token, or of the last one.
    pub(super) fn line(&self) -> u32 {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(1, |token| token.line)
    }

    pub(super) fn peek(&self) -> Option<&'a Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    /// The token after the next one.
    pub(super) fn peek_second(&self) -> Option<&'a Kind> {
        self.tokens.get(self.at + 1).map(|token| &token.kind)
    }

    pub(super) fn next(&mut self) -> Option<&'a Kind> {
        let kind = self.peek();
        self.at += usize::from(kind.is_some());
        kind
    }

    /// Takes `mark` if it is next.
    pub(super) fn accept(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Kind::Mark(mark));
        self.at += usize::from(found);
        found
    }

    /// Takes the word `text` if it is next.
    pub(super) fn accept_word(&mut self, text: &str) -> bool {
        let found = matches!(self.peek(), Some(Kind::Word(word)) if word == text);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, mark: char) -> Result<(), ParseError> {
        if self.accept(mark) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{mark}`")))
    }

    pub(super) fn word(&mut self) -> Result<&'a str, ParseError> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// A plain integer, as sizes and alignments are.
    pub(super) fn size(&mut self) -> Result<u32, ParseError> {
        if let Some(Kind::Number(text)) = self.peek()
            && let Ok(size) = text.parse()
        {
            self.at += 1;
            return Ok(size);
        }
        Err(self.unexpected("an integer"))
    }

    /// Skips to the first token of a later line.
    pub(super) fn skip_line(&mut self) {
        let line = self.line();
        while self.at < self.tokens.len() && self.tokens[self.at].line == line {
            self.at += 1;
        }
    }

    /// Skips past the next `mark`.
    pub(super) fn skip_past(&mut self, mark: char) {
        while let Some(kind) = self.next() {
            if *kind == Kind::Mark(mark) {
                return;
            }
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> ParseError {
        let found = match self.peek() {
            Some(Kind::Word(text) | Kind::Number(text)) => format!("`{text}`"),
            Some(Kind::Mark(mark)) => format!("`{mark}`"),
            Some(Kind::Text) => "a text".to_owned(),
            None => "the end".to_owned(),
        };
        let expected = expected.to_owned();
        ParseError::new(self.line(), Problem::Syntax { expected, found })
    }
}
