//! What a run achieved: tokens a second, the share of the device's peak, memory.

use std::fmt;

use crate::log::Row;
use crate::sizes::Sizes;

/// The figures of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// The median over the lines of the log after the first, which compiles and tunes kernels.
    pub(crate) tokens_per_second: f64,
    flops_per_token: f64,
    /// Of the device, in FLOP/s.
    peak: Option<f64>,
    peak_bytes: Option<u64>,
}

impl Report {
    /// The figures of `rows`; `peak_tflops` and `peak_bytes` where they are known.
    pub(crate) fn new(
        sizes: &Sizes,
        rows: &[Row],
        peak_tflops: Option<f64>,
        peak_bytes: Option<u64>,
    ) -> Self {
        // Rows of one line share a value: the first line's are left out where there are others.
        let first = rows.first().map(|row| row.tokens_per_second);
        let speeds = |skipped: Option<f64>| -> Vec<f64> {
            let speeds = rows.iter().map(|row| row.tokens_per_second);
            speeds.filter(|&speed| Some(speed) != skipped).collect()
        };
        let later = speeds(first);
        let speeds = if later.is_empty() {
            speeds(None)
        } else {
            later
        };
        Self {
            tokens_per_second: median(speeds),
            flops_per_token: sizes.flops_per_token(),
            peak: peak_tflops.map(|tflops| tflops * 1e12),
            peak_bytes,
        }
    }

    /// Floating-point operations a second that the model needs.
    fn flops(&self) -> f64 {
        self.tokens_per_second * self.flops_per_token
    }

    /// Model FLOP utilisation: what the model needs of what the device can do.
    fn utilisation(&self) -> Option<f64> {
        Some(self.flops() / self.peak?)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} tokens/s, {:.4} TFLOP/s",
            self.tokens_per_second,
            self.flops() / 1e12
        )?;
        if let Some(share) = self.utilisation() {
            write!(f, " ({:.1}% model FLOP utilisation)", 100.0 * share)?;
        }
        if let Some(bytes) = self.peak_bytes {
            write!(f, ", {:.2} GiB at the peak", bytes as f64 / GIB)?;
        }
        Ok(())
    }
}

/// Bytes of a GiB.
pub(crate) const GIB: f64 = (1_u64 << 30) as f64;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::tests::TOY;

    fn rows(speeds: &[f64]) -> Vec<Row> {
        let row = |&tokens_per_second| Row {
            step: 1,
            loss: 1.0,
            learning_rate: 1.0,
            tokens_per_second,
            validation_loss: None,
        };
        speeds.iter().map(row).collect()
    }

    #[test]
    fn the_first_line_does_not_count_unless_it_is_the_only_one() {
        let speed = |speeds: &[f64]| Report::new(&TOY, &rows(speeds), None, None).tokens_per_second;
        assert_eq!(speed(&[1.0, 1.0, 1.0, 8.0, 9.0, 10.0]), 9.0);
        assert_eq!(speed(&[1.0, 1.0]), 1.0);
        assert_eq!(speed(&[]), 0.0);
    }

    #[test]
    fn utilisation_is_the_models_work_over_the_devices() {
        let speed = 1e12 / TOY.flops_per_token();
        let report = Report::new(&TOY, &rows(&[speed]), Some(4.0), Some(1 << 31));
        let shown = report.to_string();
        assert!(shown.contains("1.0000 TFLOP/s (25.0% model"), "{shown}");
        assert!(shown.contains("2.00 GiB"), "{shown}");
        let shown = Report::new(&TOY, &rows(&[speed]), None, None).to_string();
        assert!(!shown.contains('%') && !shown.contains("GiB"), "{shown}");
    }
}
