//! Measures as a table: instructions by name, then bytes by memory.

use super::{InstructionMeasures, Measures};
use std::collections::HashMap;
use std::fmt;

/// Instructions of the printed table that are there for their number alone.
const MOST_FREQUENT: usize = 12;

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
