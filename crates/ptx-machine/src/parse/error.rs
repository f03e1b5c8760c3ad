//! Why a text is not a module that this machine runs.

/// The first fault of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The text breaks the grammar.
    #[error("line {line}: expected {expected}, found {found}")]
    Syntax {
        /// Line, from 1.
        line: u32,
        /// What may stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// An instruction, or one of its suffixes, that the machine does not run.
    #[error("line {line}: instruction {instruction} is not supported")]
    Instruction {
        /// Line, from 1.
        line: u32,
        /// Its name with every suffix.
        instruction: String,
    },
    /// A directive that the machine does not know.
    #[error("line {line}: directive {directive} is not supported")]
    Directive {
        /// Line, from 1.
        line: u32,
        /// Its name.
        directive: String,
    },
    /// An operand count that the instruction does not take.
    #[error("line {line}: {instruction} takes {expected} operands, found {found}")]
    OperandCount {
        /// Line, from 1.
        line: u32,
        /// The instruction's full name.
        instruction: String,
        /// The counts it takes.
        expected: &'static str,
        /// How many there are.
        found: usize,
    },
    /// An operand of a form or width that the instruction does not take.
    #[error("line {line}: {instruction} takes {expected} as operand {position}, found {found}")]
    Operand {
        /// Line, from 1.
        line: u32,
        /// The instruction's full name.
        instruction: String,
        /// Which operand, from 1.
        position: usize,
        /// What it takes there.
        expected: String,
        /// The operand.
        found: String,
    },
    /// A name that no declaration in reach gives.
    #[error("line {line}: {name} is not declared")]
    UnknownName {
        /// Line, from 1.
        line: u32,
        /// A register, symbol or special register.
        name: String,
    },
    /// A branch to a label that its scopes do not have.
    #[error("line {line}: label {label} does not exist")]
    UnknownLabel {
        /// Line of the branch, from 1.
        line: u32,
        /// The label.
        label: String,
    },
    /// A register, label, parameter or symbol declared twice in one scope.
    #[error("line {line}: {name} is declared twice")]
    Duplicate {
        /// Line of the second, from 1.
        line: u32,
        /// The name.
        name: String,
    },
    /// A constant that its type cannot hold.
    #[error("line {line}: {literal} does not fit in {bits} bits")]
    Immediate {
        /// Line, from 1.
        line: u32,
        /// The constant as read.
        literal: String,
        /// Width of the type.
        bits: u32,
    },
    /// No `.target` before the first kernel.
    #[error("the module has no .target sm_NN")]
    NoTarget,
}
