//! An instruction's name, taken apart: `ld.global.v4.b32` is `ld` with three suffixes.

use super::{ParseError, Problem};
use crate::module::ScalarType;

/// A name and the suffixes that nobody has asked for yet.
pub(super) struct Mnemonic<'a> {
    pub(super) name: &'a str,
    pub(super) base: &'a str,
    suffixes: Vec<&'a str>,
    pub(super) line: u32,
}

impl<'a> Mnemonic<'a> {
    pub(super) fn new(name: &'a str, line: u32) -> Self {
        let mut parts = name.split('.');
        Self {
            name,
            base: parts.next().unwrap_or_default(),
            suffixes: parts.collect(),
            line,
        }
    }

    /// Takes `suffix` if it is there.
    pub(super) fn take(&mut self, suffix: &str) -> bool {
        let found = self.suffixes.iter().position(|s| *s == suffix);
        found.map(|at| self.suffixes.remove(at)).is_some()
    }

    /// Takes every suffix that says nothing to this machine.
    pub(super) fn ignore(&mut self, accept: impl Fn(&str) -> bool) {
        self.suffixes.retain(|suffix| !accept(suffix));
    }

    /// Takes the first suffix that `map` knows.
    pub(super) fn take_first<T>(&mut self, map: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) = self
            .suffixes
            .iter()
            .enumerate()
            .find_map(|(at, suffix)| Some((at, map(suffix)?)))?;
        self.suffixes.remove(at);
        Some(value)
    }

    /// Takes the first type.
    pub(super) fn ty(&mut self) -> Result<ScalarType, ParseError> {
        self.take_first(scalar_type)
            .ok_or_else(|| self.unsupported())
    }

    /// Requires that every suffix was asked for.
    pub(super) fn finish(&self) -> Result<(), ParseError> {
        if self.suffixes.is_empty() {
            return Ok(());
        }
        Err(self.unsupported())
    }

    pub(super) fn unsupported(&self) -> ParseError {
        let name = self.name.to_owned();
        ParseError::new(self.line, Problem::Unsupported { name })
    }

    pub(super) fn operands(&self, expected: impl ToString, found: usize) -> ParseError {
        let (name, expected) = (self.name.to_owned(), expected.to_string());
        ParseError::new(
            self.line,
            Problem::Operands {
                name,
                expected,
                found,
            },
        )
    }
}

/// The type that a suffix names.
pub(super) fn scalar_type(suffix: &str) -> Option<ScalarType> {
    Some(match suffix {
        "pred" => ScalarType::Pred,
        "b8" => ScalarType::B8,
        "u8" => ScalarType::U8,
        "s8" => ScalarType::S8,
        "b16" => ScalarType::B16,
        "u16" => ScalarType::U16,
        "s16" => ScalarType::S16,
        "f16" => ScalarType::F16,
        "bf16" => ScalarType::Bf16,
        "f16x2" => ScalarType::F16x2,
        "bf16x2" => ScalarType::Bf16x2,
        "b32" => ScalarType::B32,
        "u32" => ScalarType::U32,
        "s32" => ScalarType::S32,
        "f32" => ScalarType::F32,
        "b64" => ScalarType::B64,
        "u64" => ScalarType::U64,
        "s64" => ScalarType::S64,
        "f64" => ScalarType::F64,
        _ => return None,
    })
}
