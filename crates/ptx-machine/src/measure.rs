//! What a launch did: instructions, conflicts, sectors, bytes.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Bytes of a bank's word.
const BANK_BYTES: u64 = 4;
const BANKS: u64 = 32;
/// Bytes of a sector of global memory.
const SECTOR_BYTES: u64 = 32;
/// Instructions of the printed table that are there for their number alone.
const MOST_FREQUENT: usize = 12;
/// Bytes that shared memory moves at once.
const WAVEFRONT_BYTES: u64 = BANKS * BANK_BYTES;

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

/// Accesses of shared memory at least and in fact, for lanes that access `bytes` bytes each.
///
/// The hardware serves 128 bytes at once: 32 lanes of 4 bytes, 16 of 8, 8 of 16. Within such a
/// group, lanes whose bytes lie in one bank but in different words take turns.
pub(crate) fn wavefronts(addresses: &[u64], bytes: u64) -> (u64, u64) {
    let group = (WAVEFRONT_BYTES / bytes.max(BANK_BYTES)) as usize;
    let mut total = (0, 0);
    for group in addresses.chunks(group) {
        let mut words: Vec<u64> = group
            .iter()
            .flat_map(|address| {
                let first = address / BANK_BYTES;
                first..=(address + bytes - 1) / BANK_BYTES
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut banks = [0_u64; BANKS as usize];
        for word in words {
            banks[(word % BANKS) as usize] += 1;
        }
        total.0 += 1;
        total.1 += banks.into_iter().max().unwrap_or(0);
    }
    total
}

/// Sectors of global memory at least and in fact, for lanes that access `bytes` bytes each.
pub(crate) fn sectors(addresses: &[u64], bytes: u64) -> (u64, u64) {
    let mut touched: Vec<u64> = addresses
        .iter()
        .flat_map(|address| address / SECTOR_BYTES..=(address + bytes - 1) / SECTOR_BYTES)
        .collect();
    touched.sort_unstable();
    touched.dedup();
    let mut distinct = addresses.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let needed = (distinct.len() as u64 * bytes).div_ceil(SECTOR_BYTES);
    (needed, touched.len() as u64)
}

impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} blocks, {} warps, {} warp instructions, {} lane instructions",
            self.blocks,
            self.warps,
            self.executions(),
            self.lane_instructions()
        )?;
        writeln!(
            f,
            "{:<56} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "instruction", "warps", "shared", "conflicts", "sectors", "extra"
        )?;
        let mut names: HashMap<&str, InstructionMeasures> = HashMap::new();
        for one in self.instructions.values() {
            let all = names.entry(&one.name).or_default();
            all.executions += one.executions;
            all.shared_minimum += one.shared_minimum;
            all.shared_wavefronts += one.shared_wavefronts;
            all.sectors_minimum += one.sectors_minimum;
            all.sectors += one.sectors;
        }
        let mut rows: Vec<_> = names.into_iter().collect();
        rows.sort_by(|a, b| b.1.executions.cmp(&a.1.executions).then(a.0.cmp(b.0)));
        // The most frequent ones, and all that touch memory or meet others.
        let (shown, others): (Vec<_>, Vec<_>) =
            rows.into_iter().enumerate().partition(|(at, row)| {
                let told = ["bar", "mma", "shfl", "vote", "cp.async"];
                *at < MOST_FREQUENT
                    || row.1.shared_minimum + row.1.sectors_minimum > 0
                    || told.iter().any(|prefix| row.0.starts_with(prefix))
            });
        for (_, (name, row)) in shown {
            writeln!(
                f,
                "{:<56} {:>9} {:>9} {:>9} {:>9} {:>9}",
                name,
                row.executions,
                row.shared_wavefronts,
                row.shared_wavefronts - row.shared_minimum,
                row.sectors,
                row.sectors - row.sectors_minimum.min(row.sectors)
            )?;
        }
        if !others.is_empty() {
            let executions: u64 = others.iter().map(|(_, (_, row))| row.executions).sum();
            let title = format!("{} others", others.len());
            writeln!(f, "{title:<56} {executions:>9}")?;
        }
        writeln!(f, "{:<56} {:>12} {:>12}", "memory", "read B", "written B")?;
        for buffer in &self.buffers {
            writeln!(
                f,
                "{:<56} {:>12} {:>12}",
                buffer.name, buffer.read, buffer.written
            )?;
        }
        write!(
            f,
            "{:<56} {:>12} {:>12}",
            "shared", self.shared_read, self.shared_written
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_bank_take_turns() {
        let words: Vec<u64> = (0..32).map(|lane| lane * 4).collect();
        assert_eq!(wavefronts(&words, 4), (1, 1));
        let column: Vec<u64> = (0..32).map(|lane| lane * 128).collect();
        assert_eq!(wavefronts(&column, 4), (1, 32));
        // A broadcast is one access.
        assert_eq!(wavefronts(&[64; 32], 4), (1, 1));
    }

    #[test]
    fn wide_accesses_go_in_groups() {
        let chunks: Vec<u64> = (0..32).map(|lane| lane * 16).collect();
        assert_eq!(wavefronts(&chunks, 16), (4, 4));
        let rows: Vec<u64> = (0..8).map(|row| row * 128).collect();
        assert_eq!(wavefronts(&rows, 16), (1, 8));
    }

    #[test]
    fn scattered_lanes_touch_more_sectors() {
        let dense: Vec<u64> = (0..32).map(|lane| lane * 16).collect();
        assert_eq!(sectors(&dense, 16), (16, 16));
        let sparse: Vec<u64> = (0..32).map(|lane| lane * 256).collect();
        assert_eq!(sectors(&sparse, 4), (4, 32));
    }
}
