//! Records of measurements: rows and the facts of the machine, as JSON.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::measure::Measurement;
use crate::settings::Settings;

/// One attention at one length.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pass: &'static str,
    path: String,
    dtype: &'static str,
    b: usize,
    h: usize,
    hkv: usize,
    sq: usize,
    sk: usize,
    d: usize,
    causal: bool,
    note: String,
    /// Least, median and largest milliseconds of a training step.
    ms: [f64; 3],
    /// The whole model's, by `Sizes::flops_per_token`, from the median.
    tflops: f64,
    gbps: Option<f64>,
    pub(crate) tokens_per_second: f64,
    pub(crate) peak_bytes: Option<u64>,
    loss: f64,
}

impl Row {
    /// The row of `measurement`; none where nothing was timed.
    pub(crate) fn new(settings: &Settings, measurement: Measurement) -> Option<Self> {
        let Measurement {
            path,
            mut ms,
            peak_bytes,
            loss,
        } = measurement;
        ms.sort_by(f64::total_cmp);
        let ms = [*ms.first()?, *ms.get(ms.len() / 2)?, *ms.last()?];
        let tokens_per_second = settings.tokens_per_step() as f64 / ms[1] * 1e3;
        let sizes = &settings.sizes;
        Some(Self {
            pass: "fwdbwd",
            path,
            dtype: settings.dtype.name(),
            b: settings.batch,
            h: sizes.heads,
            hkv: sizes.kv_heads,
            sq: sizes.context,
            sk: sizes.context,
            d: sizes.head_dim(),
            causal: true,
            note: format!(
                "training step of {} parameters, {} layers, --attention {}",
                sizes.parameters(),
                sizes.layers,
                settings.attention.name()
            ),
            ms,
            tflops: tokens_per_second * sizes.flops_per_token() / 1e12,
            gbps: None,
            tokens_per_second,
            peak_bytes,
            loss,
        })
    }
}

/// What could not be measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Failure {
    pub(crate) attention: &'static str,
    pub(crate) b: usize,
    pub(crate) sq: usize,
    pub(crate) reason: String,
}

/// Rows with the facts of their machine.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) gpu: String,
    pub(crate) driver: String,
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) versions: serde_json::Value,
    pub(crate) method: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) failures: Vec<Failure>,
}

impl Record {
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let json = serde_json::to_string_pretty(self)?;
        std::fs::write(file, json + "\n")
            .with_context(|| format!("--record {}: can't be written", file.display()))
    }
}

/// Version of the NVIDIA driver, as the kernel module reports it.
pub(crate) fn driver() -> String {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let version = text.split_whitespace().find(is_version);
    version.unwrap_or("none").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::toy;

    #[test]
    fn a_row_has_the_median_and_what_follows_from_it() {
        let measurement = Measurement {
            path: "cubecl".to_string(),
            ms: vec![30.0, 10.0, 20.0],
            peak_bytes: Some(5),
            loss: 1.5,
        };
        let row = Row::new(&toy(), measurement.clone()).unwrap();
        assert_eq!(row.ms, [10.0, 20.0, 30.0]);
        // Two sequences of 16 tokens in 20 ms.
        assert_eq!(row.tokens_per_second, 1_600.0);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!((&json["pass"], &json["sq"]), (&"fwdbwd".into(), &16.into()));
        let untimed = Measurement {
            ms: Vec::new(),
            ..measurement
        };
        assert!(Row::new(&toy(), untimed).is_none());
    }
}
