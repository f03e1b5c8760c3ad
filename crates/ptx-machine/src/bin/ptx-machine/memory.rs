//! The buffers of a run, by their names.

use crate::error::CommandError;
use crate::grammar::{Argument, Buffer, Contents, Output};
use ptx_machine::{GlobalMemory, Launch, Pointer};
use std::fs;

/// Global memory, and where each buffer lies in it.
pub(crate) struct NamedMemory {
    pub(crate) memory: GlobalMemory,
    buffers: Vec<Named>,
}

struct Named {
    name: String,
    pointer: Pointer,
    bytes: usize,
}

impl NamedMemory {
    /// Allocates `buffers`, and reads the files of those that have one.
    pub(crate) fn new(buffers: &[Buffer]) -> Result<Self, CommandError> {
        let mut named = Self {
            memory: GlobalMemory::new(),
            buffers: Vec::new(),
        };
        for Buffer { name, contents } in buffers {
            if named.buffers.iter().any(|other| other.name == *name) {
                let name = name.clone();
                return Err(CommandError::DuplicateBuffer { name });
            }
            let memory = &mut named.memory;
            let (pointer, bytes) = match contents {
                Contents::File(path) => {
                    let data = fs::read(path).map_err(|error| {
                        let path = path.clone();
                        CommandError::File { path, error }
                    })?;
                    (memory.allocate(name, &data), data.len())
                }
                Contents::Zeros(bytes) => (memory.allocate(name, &vec![0; *bytes]), *bytes),
                Contents::Uninitialized(bytes) => {
                    (memory.allocate_uninitialized(name, *bytes), *bytes)
                }
            };
            let name = name.clone();
            named.buffers.push(Named {
                name,
                pointer,
                bytes,
            });
        }
        Ok(named)
    }

    fn buffer(&self, name: &str) -> Result<&Named, CommandError> {
        let found = self.buffers.iter().find(|buffer| buffer.name == name);
        found.ok_or_else(|| CommandError::UnknownBuffer {
            name: name.to_owned(),
            names: self.buffers.iter().map(|b| b.name.clone()).collect(),
        })
    }

    /// Gives `arguments` to a launch.
    pub(crate) fn pass<'a>(
        &self,
        arguments: &[Argument],
        launch: Launch<'a>,
    ) -> Result<Launch<'a>, CommandError> {
        arguments
            .iter()
            .try_fold(launch, |launch, argument| match argument {
                Argument::Buffer(name) => Ok(launch.pointer(self.buffer(name)?.pointer)),
                Argument::Bytes(bytes) => Ok(launch.argument(bytes)),
            })
    }

    /// Whether there is a buffer for each of `outputs`: asked before a run, which may take long.
    pub(crate) fn check(&self, outputs: &[Output]) -> Result<(), CommandError> {
        outputs
            .iter()
            .try_for_each(|output| self.buffer(&output.buffer).map(|_| ()))
    }

    /// Writes each buffer of `outputs` to its file.
    pub(crate) fn save(&self, outputs: &[Output]) -> Result<(), CommandError> {
        for Output { buffer, file } in outputs {
            let Named { pointer, bytes, .. } = self.buffer(buffer)?;
            let data = self.memory.read(*pointer, *bytes)?;
            fs::write(file, data).map_err(|error| {
                let path = file.clone();
                CommandError::File { path, error }
            })?;
        }
        Ok(())
    }
}
