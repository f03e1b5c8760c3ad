//! Modules, forms of instructions, and errors.

mod errors;
mod forms;
mod structure;

use super::ParseError;
use crate::module::{Kernel, Module};

/// Registers of every class, in the order of their indices.
const REGISTERS: &str = ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %d<16>;";

/// A module whose only kernel has `body`, which starts on line 6.
fn module(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .shared .align 16 .b8 tile[1024]; .extern .shared .align 16 .b8 dynamic[];\n\
         .visible .entry k(.param .u64 p0, .param .u32 p1, .param .align 8 .b8 p2[24]) {{ {REGISTERS}\n\
         {body}\n}}\n"
    )
}

fn parse(body: &str) -> Result<Kernel, ParseError> {
    Module::parse(&module(body)).map(|mut module| module.kernels.remove(0))
}

fn message(body: &str) -> String {
    parse(body).expect_err(body).to_string()
}
