//! Names and constants to the IR's operands, against the types that an instruction gives them.

use super::call::Call;
use crate::{
    module::{
        Address, AddressBase, Axis, Comparison, Operand, RegisterClass, RegisterId, ScalarType,
        Special,
    },
    parse::{ParseError, literal::Literal, operand::Written},
};

impl<'t> Call<'_, 't> {
    /// Operand `index` as a value exactly as wide as `ty`.
    pub(super) fn source(&self, index: usize, ty: ScalarType) -> Result<Operand, ParseError> {
        self.value(index, &self.operands[index], ty, |class| {
            class.bits() == ty.bits()
        })
    }

    /// Operand `index` as a value that a wider register may hold: `cvt`, `ld` and `st` allow it.
    pub(super) fn loose_source(&self, index: usize, ty: ScalarType) -> Result<Operand, ParseError> {
        self.value(index, &self.operands[index], ty, at_least(ty))
    }

    /// `written`, which is or is part of operand `index`, as a value.
    pub(super) fn value(
        &self,
        index: usize,
        written: &Written<'t>,
        ty: ScalarType,
        holds: impl Fn(RegisterClass) -> bool,
    ) -> Result<Operand, ParseError> {
        match written {
            Written::Number { literal, negative } => {
                let float = matches!(ty, ScalarType::F32 | ScalarType::F64);
                if float && matches!(literal, Literal::Integer(_)) {
                    return Err(self.mismatch(index, "a floating-point constant"));
                }
                let bits = literal
                    .bits(*negative, ty)
                    .ok_or_else(|| ParseError::Immediate {
                        line: self.place.line,
                        literal: written.to_string(),
                        bits: ty.bits(),
                    })?;
                Ok(Operand::Immediate(bits))
            }
            Written::Name { name, offset } => self.named(index, name, *offset, ty, holds),
            _ => Err(self.mismatch(index, width_name(ty))),
        }
    }

    fn named(
        &self,
        index: usize,
        name: &str,
        offset: i64,
        ty: ScalarType,
        holds: impl Fn(RegisterClass) -> bool,
    ) -> Result<Operand, ParseError> {
        if let Some((id, class)) = self.building.scopes.register(name) {
            let fits = offset == 0 && holds(class);
            return if fits {
                Ok(Operand::Register(id))
            } else {
                Err(self.mismatch(index, width_name(ty)))
            };
        }
        if let Some(special) = special(name) {
            return Ok(Operand::Special(special));
        }
        if let Some(symbol) = self.shared_symbol(name) {
            return Ok(Operand::SharedAddress { symbol, offset });
        }
        let parameter = self
            .building
            .parameters
            .iter()
            .find(|parameter| parameter.name == name);
        match parameter {
            Some(parameter) => Ok(Operand::Immediate(
                u64::from(parameter.offset).wrapping_add_signed(offset),
            )),
            None => Err(self.unknown(name)),
        }
    }

    fn shared_symbol(&self, name: &str) -> Option<u32> {
        let symbol = self
            .building
            .shared
            .iter()
            .position(|symbol| symbol.name == name)?;
        u32::try_from(symbol).ok()
    }

    /// Operand `index` as a predicate, and whether it is negated.
    pub(super) fn predicate(&self, index: usize) -> Result<(Operand, bool), ParseError> {
        let holds = |class| class == RegisterClass::Predicate;
        match &self.operands[index] {
            Written::Not(name) => {
                let id = self.register(index, name, "a predicate", holds)?;
                Ok((Operand::Register(id), true))
            }
            written => Ok((self.value(index, written, ScalarType::Pred, holds)?, false)),
        }
    }

    /// Operand `index` as an address of the parameter space.
    pub(super) fn parameter_address(&self, index: usize) -> Result<Address, ParseError> {
        if let Written::Address { base, offset } = &self.operands[index]
            && let Some(parameter) = self.parameter(base)
        {
            let base = AddressBase::Parameter(parameter);
            return Ok(Address {
                base,
                offset: *offset,
            });
        }
        self.address(index)
    }

    /// The parameter that `written` names, if it does.
    fn parameter(&self, written: &Written<'t>) -> Option<u32> {
        let Written::Name { name, .. } = *written else {
            return None;
        };
        if self.building.scopes.register(name).is_some() {
            return None;
        }
        let found = self
            .building
            .parameters
            .iter()
            .position(|parameter| parameter.name == name)?;
        u32::try_from(found).ok()
    }

    /// Operand `index` as `[base + offset]`, in any space but that of the parameters.
    pub(super) fn address(&self, index: usize) -> Result<Address, ParseError> {
        const EXPECTED: &str = "an address in brackets";
        let Written::Address { base, offset } = &self.operands[index] else {
            return Err(self.mismatch(index, EXPECTED));
        };
        if self.parameter(base).is_some() {
            return Err(self.mismatch(index, "an address of its state space"));
        }
        let holds = |class| matches!(class, RegisterClass::B32 | RegisterClass::B64);
        let base = self.value(index, base, ScalarType::B64, holds)?;
        Ok(Address {
            base: AddressBase::Operand(base),
            offset: *offset,
        })
    }

    /// The elements of operand `index`; one that is no vector is its own only element.
    pub(super) fn elements(&self, index: usize) -> &[Written<'t>] {
        match &self.operands[index] {
            Written::Vector(elements) => elements,
            other => std::slice::from_ref(other),
        }
    }

    /// The elements of operand `index` as `count` destinations, which `expected` words one by one.
    pub(super) fn destinations(
        &self,
        index: usize,
        count: usize,
        expected: &str,
        holds: impl Fn(RegisterClass) -> bool + Copy,
    ) -> Result<Vec<RegisterId>, ParseError> {
        let elements = self.elements(index);
        if elements.len() != count {
            return Err(self.mismatch(index, &format!("{count} registers")));
        }
        let one = |element: &Written<'t>| match element {
            Written::Name { name, offset: 0 } => self.register(index, name, expected, holds),
            _ => Err(self.mismatch(index, expected)),
        };
        elements.iter().map(one).collect()
    }

    /// The elements of operand `index` as `count` values.
    pub(super) fn values(
        &self,
        index: usize,
        count: usize,
        ty: ScalarType,
        holds: impl Fn(RegisterClass) -> bool + Copy,
    ) -> Result<Vec<Operand>, ParseError> {
        let elements = self.elements(index);
        if elements.len() != count {
            return Err(self.mismatch(index, &format!("{count} values")));
        }
        elements
            .iter()
            .map(|element| self.value(index, element, ty, holds))
            .collect()
    }
}

/// Classes that hold a `ty`, wider ones included.
pub(super) fn at_least(ty: ScalarType) -> impl Fn(RegisterClass) -> bool + Copy {
    move |class| class != RegisterClass::Predicate && class.bits() >= ty.bits()
}

/// What a value of a type's width is called in an error.
pub(super) fn width_name(ty: ScalarType) -> &'static str {
    match ty.bits() {
        1 => "a predicate",
        8 => "a value of 8 bits",
        16 => "a value of 16 bits",
        32 => "a value of 32 bits",
        _ => "a value of 64 bits",
    }
}

fn special(name: &str) -> Option<Special> {
    let (family, axis) = name.split_once('.').unwrap_or((name, ""));
    let axis = match axis {
        "x" => Some(Axis::X),
        "y" => Some(Axis::Y),
        "z" => Some(Axis::Z),
        "" => None,
        _ => return None,
    };
    Some(match (family, axis) {
        ("%tid", Some(axis)) => Special::ThreadId(axis),
        ("%ntid", Some(axis)) => Special::Threads(axis),
        ("%ctaid", Some(axis)) => Special::BlockId(axis),
        ("%nctaid", Some(axis)) => Special::Blocks(axis),
        ("%laneid", None) => Special::Lane,
        ("%warpid", None) => Special::Warp,
        ("%clock" | "%clock64", None) => Special::Clock,
        ("%lanemask_eq", None) => Special::LaneMask(Comparison::Eq),
        ("%lanemask_lt", None) => Special::LaneMask(Comparison::Lt),
        ("%lanemask_le", None) => Special::LaneMask(Comparison::Le),
        ("%lanemask_gt", None) => Special::LaneMask(Comparison::Gt),
        ("%lanemask_ge", None) => Special::LaneMask(Comparison::Ge),
        _ => return None,
    })
}
