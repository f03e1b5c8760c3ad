//! Records of measurements: the rows and the facts of the machine, as JSON and CSV.

use crate::bench::shape::Shape;
use anyhow::{Context, Result};
use fa2_cubecl::Problem;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One measured shape on one path.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// fwd, bwd, ...
    pub pass: String,
    /// The implementation.
    pub path: String,
    /// f16 or bf16.
    pub dtype: String,
    /// Batch entries.
    pub b: usize,
    /// Query heads.
    pub h: usize,
    /// Key/value heads.
    pub hkv: usize,
    /// Query rows.
    pub sq: usize,
    /// Key rows.
    pub sk: usize,
    /// Head size.
    pub d: usize,
    /// Causal mask.
    pub causal: bool,
    /// The kernel's configuration.
    pub note: String,
    /// Least, median and largest milliseconds of the rounds.
    pub ms: [f64; 3],
    /// From the median.
    pub tflops: f64,
    /// Bytes a second, where that is what counts.
    pub gbps: Option<f64>,
}

impl Row {
    /// A forward row from the milliseconds of all rounds.
    #[must_use]
    pub fn forward(path: &str, problem: &Problem, note: String, ms: Vec<f64>) -> Self {
        Self::of("fwd", path, problem, note, ms, problem.flops())
    }

    /// A backward row: five products where the forward has two.
    #[must_use]
    pub fn backward(path: &str, problem: &Problem, note: String, ms: Vec<f64>) -> Self {
        Self::of("bwd", path, problem, note, ms, 2.5 * problem.flops())
    }

    fn of(
        pass: &str,
        path: &str,
        problem: &Problem,
        note: String,
        mut ms: Vec<f64>,
        flops: f64,
    ) -> Self {
        ms.sort_by(f64::total_cmp);
        let ms = [ms[0], ms[ms.len() / 2], ms[ms.len() - 1]];
        let Shape {
            dtype,
            b,
            h,
            hkv,
            sq,
            sk,
            d,
            causal,
        } = Shape::from(problem);
        Self {
            pass: pass.into(),
            path: path.into(),
            dtype: dtype.into(),
            b,
            h,
            hkv,
            sq,
            sk,
            d,
            causal,
            note,
            ms,
            tflops: flops / ms[1] / 1e9,
            gbps: None,
        }
    }
}

/// Rows with the facts of their machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The GPU's name.
    pub gpu: String,
    /// The driver's version.
    pub driver: String,
    /// Processor and cores.
    #[serde(default)]
    pub machine: String,
    /// Largest clocks of multiprocessors and memory, and the power limit.
    #[serde(default)]
    pub clocks: String,
    /// Day of the run.
    pub date: String,
    /// Commit of the code.
    pub commit: String,
    /// Versions of the crates behind it.
    pub versions: serde_json::Value,
    /// Clock, warm-up, rounds, and what is inside the timed region.
    pub method: String,
    /// The measurements.
    pub rows: Vec<Row>,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// Where the file can't be read or is none.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is no record of measurements", path.display()))
    }

    /// Writes `path` and, beside it, the rows as CSV.
    ///
    /// # Errors
    /// Where a file can't be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)?;
        std::fs::write(path, json + "\n").with_context(|| path.display().to_string())?;
        let mut csv = String::from(
            "pass,path,dtype,b,h,hkv,sq,sk,d,causal,min_ms,median_ms,max_ms,tflops,note\n",
        );
        for row in &self.rows {
            let Row {
                pass,
                path,
                dtype,
                b,
                h,
                hkv,
                sq,
                sk,
                d,
                causal,
                note,
                ms,
                tflops,
                ..
            } = row;
            let [least, median, most] = ms;
            csv += &format!(
                "{pass},{path},{dtype},{b},{h},{hkv},{sq},{sk},{d},{causal},{least:.5},{median:.5},{most:.5},{tflops:.2},{note}\n"
            );
        }
        let csv_path = path.with_extension("csv");
        std::fs::write(&csv_path, csv).with_context(|| csv_path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// `Strategy::Auto` takes the kernel for Hopper wherever it serves, else the CubeCL kernel. A record in which
    /// another of ours is faster by more than the rounds differ is a reason to change that.
    #[test]
    fn no_cell_of_the_record_speaks_against_auto() -> Result<()> {
        const LEAST: f64 = 0.98;
        let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("record/h200/forward.json");
        let mut cells: BTreeMap<(String, usize, usize, bool), BTreeMap<String, f64>> =
            BTreeMap::new();
        for row in Record::read(&record)?.rows {
            let cell = cells
                .entry((row.dtype, row.d, row.sq, row.causal))
                .or_default();
            let best = cell.entry(row.path).or_insert(row.tflops);
            *best = best.max(row.tflops);
        }
        let mut compared = 0;
        for (cell, paths) in cells {
            let ours = ["hopper", "cubecl", "cute"];
            let mut ours = ours.into_iter().filter_map(|path| paths.get(path));
            let Some(auto) = ours.next() else { continue };
            for other in ours {
                compared += 1;
                assert!(auto / other >= LEAST, "{cell:?}: {auto} against {other}");
            }
        }
        assert!(compared > 0, "the record has no cell with two engines");
        Ok(())
    }
}
