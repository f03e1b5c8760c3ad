//! Text to [`Module`]: tokens, then directives, then the statements of each kernel.
//!
//! Names are resolved while parsing, so that an unknown register or a missing label is an error with
//! a line rather than a surprise at run time. An instruction that this machine does not run is an
//! error too: nothing is skipped but debug information and performance hints.

mod body;
mod cursor;
mod directive;
mod error;
mod instruction;
mod literal;
mod operand;
mod scope;
mod suffix;
mod token;

#[cfg(test)]
mod tests;

pub use error::ParseError;

use crate::module::Module;

impl Module {
    /// Parses the text of a PTX module.
    ///
    /// # Errors
    ///
    /// The first thing in the text that is not PTX, or that this machine does not run.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        directive::module(&token::tokens(text)?)
    }
}
