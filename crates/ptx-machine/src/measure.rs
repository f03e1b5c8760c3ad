//! What a launch did: instructions, conflicts, sectors, bytes.

mod table;
pub(crate) mod traffic;

use serde::Serialize;
use std::collections::BTreeMap;

/// The measures of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Measures {
    /// By the kernel's instruction, those that ran.
    pub instructions: BTreeMap<usize, InstructionMeasures>,
    /// By buffer, in the order of allocation.
    pub buffers: Vec<BufferMeasures>,
    /// Bytes read from shared memory.
    pub shared_read: u64,
    /// Bytes written to shared memory.
    pub shared_written: u64,
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
}

/// The measures of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstructionMeasures {
    /// Line of the PTX.
    pub line: u32,
    /// The name with every suffix.
    pub name: String,
    /// Warps that ran it.
    pub executions: u64,
    /// Lanes that ran it.
    pub lanes: u64,
    /// Accesses of shared memory that its bytes need at least.
    pub shared_minimum: u64,
    /// Accesses of shared memory that it took; more than the minimum are bank conflicts.
    pub shared_wavefronts: u64,
    /// Sectors of global memory that its bytes need at least.
    pub sectors_minimum: u64,
    /// Sectors of global memory that it touched.
    pub sectors: u64,
}

/// The measures of a buffer in global memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BufferMeasures {
    /// Its name.
    pub name: String,
    /// Bytes read from it.
    pub read: u64,
    /// Bytes written to it.
    pub written: u64,
}

impl Measures {
    /// Instructions that warps ran.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.instructions.values().map(|i| i.executions).sum()
    }

    /// Instructions that lanes ran.
    #[must_use]
    pub fn lane_instructions(&self) -> u64 {
        self.instructions.values().map(|i| i.lanes).sum()
    }

    /// Instructions whose name starts with `prefix`, that warps ran.
    #[must_use]
    pub fn count(&self, prefix: &str) -> u64 {
        self.named(prefix).map(|i| i.executions).sum()
    }

    /// Accesses of shared memory beyond the minimum, of instructions whose name starts with
    /// `prefix`.
    #[must_use]
    pub fn bank_conflicts(&self, prefix: &str) -> u64 {
        self.named(prefix)
            .map(|i| i.shared_wavefronts - i.shared_minimum)
            .sum()
    }

    /// The buffer of this name.
    #[must_use]
    pub fn buffer(&self, name: &str) -> Option<&BufferMeasures> {
        self.buffers.iter().find(|buffer| buffer.name == name)
    }

    fn named(&self, prefix: &str) -> impl Iterator<Item = &InstructionMeasures> {
        self.instructions
            .values()
            .filter(move |i| i.name.starts_with(prefix))
    }

    /// Adds another block's.
    pub(crate) fn add(&mut self, other: Self) {
        for (at, theirs) in other.instructions {
            let ours = self
                .instructions
                .entry(at)
                .or_insert_with(|| InstructionMeasures {
                    line: theirs.line,
                    name: theirs.name.clone(),
                    ..Default::default()
                });
            ours.executions += theirs.executions;
            ours.lanes += theirs.lanes;
            ours.shared_minimum += theirs.shared_minimum;
            ours.shared_wavefronts += theirs.shared_wavefronts;
            ours.sectors_minimum += theirs.sectors_minimum;
            ours.sectors += theirs.sectors;
        }
        if self.buffers.is_empty() {
            self.buffers = other.buffers;
        } else {
            for (ours, theirs) in self.buffers.iter_mut().zip(other.buffers) {
                ours.read += theirs.read;
                ours.written += theirs.written;
            }
        }
        self.shared_read += other.shared_read;
        self.shared_written += other.shared_written;
        self.blocks += other.blocks;
        self.warps += other.warps;
    }
}
