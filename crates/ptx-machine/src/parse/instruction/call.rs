//! An instruction being translated: its name, its suffixes, the code that it is added to.

use super::{Place, resolve::width_name};
use crate::{
    alu::{AluKind, AluOp, Rounding},
    module::{Instruction, Op, Operand, RegisterClass, RegisterId, ScalarType},
    parse::{ParseError, body::Building, operand::Written, suffix::Suffixes},
};

/// An instruction as written, and the kernel that it is added to.
pub(super) struct Call<'b, 't> {
    pub(super) place: Place<'t>,
    pub(super) suffixes: Suffixes<'t>,
    pub(super) operands: Vec<Written<'t>>,
    pub(super) building: &'b mut Building<'t>,
}

/// The suffixes that change how a result is rounded.
#[derive(Clone, Copy)]
pub(super) struct Modifiers {
    pub(super) rounding: Option<Rounding>,
    pub(super) ftz: bool,
    pub(super) saturate: bool,
}

impl Modifiers {
    pub(super) const NONE: Self = Self {
        rounding: None,
        ftz: false,
        saturate: false,
    };

    pub(super) fn op(self, kind: AluKind, ty: ScalarType, source: ScalarType) -> AluOp {
        let Self {
            rounding,
            ftz,
            saturate,
        } = self;
        AluOp {
            kind,
            ty,
            source,
            rounding,
            ftz,
            saturate,
        }
    }
}

impl<'t> Call<'_, 't> {
    pub(super) fn unsupported(&self) -> ParseError {
        let (line, instruction) = (self.place.line, self.place.name.to_owned());
        ParseError::Instruction { line, instruction }
    }

    /// An error unless every suffix has been taken and `holds`.
    pub(super) fn finish(&self, holds: bool) -> Result<(), ParseError> {
        if holds && self.suffixes.is_empty() {
            Ok(())
        } else {
            Err(self.unsupported())
        }
    }

    /// An error unless the number of operands is among `counts`, which `expected` words.
    pub(super) fn count(&self, counts: &[usize], expected: &'static str) -> Result<(), ParseError> {
        let found = self.operands.len();
        if counts.contains(&found) {
            return Ok(());
        }
        let (line, instruction) = (self.place.line, self.place.name.to_owned());
        Err(ParseError::OperandCount {
            line,
            instruction,
            expected,
            found,
        })
    }

    /// Takes the next type of the name.
    pub(super) fn ty(&mut self) -> Result<ScalarType, ParseError> {
        self.suffixes.ty().ok_or_else(|| self.unsupported())
    }

    pub(super) fn modifiers(&mut self) -> Modifiers {
        let rounding = self.suffixes.rounding();
        let (ftz, saturate) = (self.suffixes.take("ftz"), self.suffixes.take("sat"));
        Modifiers {
            rounding,
            ftz,
            saturate,
        }
    }

    /// The register that operand `index` writes; `holds` says which classes may.
    pub(super) fn destination(
        &self,
        index: usize,
        expected: &str,
        holds: impl Fn(RegisterClass) -> bool,
    ) -> Result<RegisterId, ParseError> {
        match &self.operands[index] {
            Written::Name { name, offset: 0 } => self.register(index, name, expected, holds),
            _ => Err(self.mismatch(index, expected)),
        }
    }

    /// A destination exactly as wide as `ty`.
    pub(super) fn result(&self, index: usize, ty: ScalarType) -> Result<RegisterId, ParseError> {
        self.destination(index, width_name(ty), |class| class.bits() == ty.bits())
    }

    /// `name` as a register of a class for which `holds` is true.
    pub(super) fn register(
        &self,
        index: usize,
        name: &str,
        expected: &str,
        holds: impl Fn(RegisterClass) -> bool,
    ) -> Result<RegisterId, ParseError> {
        match self.building.scopes.register(name) {
            Some((id, class)) if holds(class) => Ok(id),
            Some(_) => Err(self.mismatch(index, expected)),
            None => Err(self.unknown(name)),
        }
    }

    /// Adds an operation to the code.
    pub(super) fn emit(&mut self, op: Op) {
        let Place { line, name, guard } = self.place;
        self.building.code.push(Instruction {
            line,
            name: name.to_owned(),
            guard,
            op,
        });
    }

    pub(super) fn emit_alu(&mut self, op: AluOp, destination: RegisterId, sources: Vec<Operand>) {
        self.emit(Op::Alu {
            op,
            destination,
            sources,
        });
    }

    pub(super) fn mismatch(&self, index: usize, expected: &str) -> ParseError {
        ParseError::Operand {
            line: self.place.line,
            instruction: self.place.name.to_owned(),
            position: index + 1,
            expected: expected.to_owned(),
            found: self.operands[index].to_string(),
        }
    }

    pub(super) fn unknown(&self, name: &str) -> ParseError {
        ParseError::UnknownName {
            line: self.place.line,
            name: name.to_owned(),
        }
    }
}
