//! PTX text to a [`Module`].

mod arithmetic;
mod cursor;
mod directive;
mod instruction;
mod lexer;
mod memory;
mod mnemonic;
mod operand;
mod warp;

use crate::module::Module;
use thiserror::Error;

impl Module {
    /// Parses `text`.
    ///
    /// # Errors
    /// The line and what is wrong with it: an instruction or form of one that this machine does not
    /// have, a name that was not declared, or text that is no PTX.
    ///
    /// ```
    /// let text = ".version 9.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }";
    /// let module = ptx_machine::Module::parse(text)?;
    /// assert_eq!(module.kernels[0].name, "nothing");
    /// # Ok::<(), ptx_machine::ParseError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        directive::module(&lexer::tokens(text))
    }
}

/// Why a text is not a module that this machine runs.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
#[non_exhaustive]
pub struct ParseError {
    /// Line of the text, from 1.
    pub line: u32,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// An instruction, or a form of it, that the machine does not have.
    #[error("instruction {name} is not supported")]
    Unsupported {
        /// Its name with every suffix.
        name: String,
    },
    /// An instruction with too few or too many operands.
    #[error("{name} takes {expected} operands, not {found}")]
    Operands {
        /// Its name with every suffix.
        name: String,
        /// How many it takes.
        expected: String,
        /// How many there are.
        found: usize,
    },
    /// A name that nothing declares.
    #[error("{name} is not declared")]
    Undeclared {
        /// The name.
        name: String,
    },
    /// A name that is declared twice in one scope.
    #[error("{name} is declared twice")]
    Twice {
        /// The name.
        name: String,
    },
    /// A directive that the machine does not have.
    #[error("directive {name} is not supported")]
    Directive {
        /// Its name.
        name: String,
    },
    /// Text that is no PTX.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// What may stand here.
        expected: String,
        /// What does.
        found: String,
    },
}

impl ParseError {
    fn new(line: u32, problem: Problem) -> Self {
        Self { line, problem }
    }
}

#[cfg(test)]
mod tests;
