//! Which names can be used where: a block in braces has registers and labels of its own.

use std::collections::HashMap;

use super::ParseError;
use crate::module::{Register, RegisterClass, RegisterId};

/// The names of one block in braces.
#[derive(Debug, Default)]
struct Scope<'t> {
    parent: Option<usize>,
    registers: HashMap<String, RegisterId>,
    labels: HashMap<&'t str, usize>,
}

/// The blocks of a kernel; a closed one is kept, since branches are resolved at the end.
#[derive(Debug)]
pub(super) struct Scopes<'t> {
    scopes: Vec<Scope<'t>>,
    current: usize,
    /// Every register declared so far, in the order of their indices.
    pub(super) registers: Vec<Register>,
}

impl<'t> Scopes<'t> {
    pub(super) fn new() -> Self {
        Self {
            scopes: vec![Scope::default()],
            current: 0,
            registers: Vec::new(),
        }
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(Scope {
            parent: Some(self.current),
            ..Scope::default()
        });
        self.current = self.scopes.len() - 1;
    }

    /// Whether there was a block to close: the outermost one is the kernel's body.
    pub(super) fn close(&mut self) -> bool {
        let parent = self.scopes[self.current].parent;
        self.current = parent.unwrap_or(self.current);
        parent.is_some()
    }

    /// The block that is open now.
    pub(super) fn current(&self) -> usize {
        self.current
    }

    pub(super) fn declare(
        &mut self,
        name: String,
        class: RegisterClass,
        line: u32,
    ) -> Result<(), ParseError> {
        let next = RegisterId(u32::try_from(self.registers.len()).unwrap_or(u32::MAX));
        let names = &mut self.scopes[self.current].registers;
        if names.insert(name.clone(), next).is_some() {
            return Err(ParseError::Duplicate { line, name });
        }
        self.registers.push(Register { name, class });
        Ok(())
    }

    /// The innermost register of this name.
    pub(super) fn register(&self, name: &str) -> Option<(RegisterId, RegisterClass)> {
        let id = self
            .outwards(self.current)
            .find_map(|scope| scope.registers.get(name).copied())?;
        Some((id, self.registers[id.0 as usize].class))
    }

    pub(super) fn label(
        &mut self,
        name: &'t str,
        target: usize,
        line: u32,
    ) -> Result<(), ParseError> {
        match self.scopes[self.current].labels.insert(name, target) {
            None => Ok(()),
            Some(_) => Err(ParseError::Duplicate {
                line,
                name: name.to_owned(),
            }),
        }
    }

    /// Where `name` leads, seen from block `scope`.
    pub(super) fn target(&self, name: &str, scope: usize) -> Option<usize> {
        self.outwards(scope)
            .find_map(|scope| scope.labels.get(name).copied())
    }

    fn outwards(&self, scope: usize) -> impl Iterator<Item = &Scope<'t>> {
        std::iter::successors(Some(&self.scopes[scope]), |scope| {
            scope.parent.map(|parent| &self.scopes[parent])
        })
    }
}
