//! The machine that is measured: which one, whether it is the one that was asked for, and the facts
//! that its record keeps.

use crate::bench::record::{Record, Row};
use anyhow::{Context, Result, ensure};
use clap::Args;
use cubecl::client::Client;
use std::path::Path;
use std::process::Command;

/// Compute capabilities of the Ampere GPUs.
const AMPERE: [u32; 3] = [80, 86, 87];

/// Which machine to measure.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Index of the CUDA device.
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Refuse any GPU but an Ampere one (SM80, SM86, SM87), as the article's benchmark does.
    #[arg(long)]
    require_ampere: bool,
    /// Commit to note in the record; without it, git is asked.
    #[arg(long)]
    commit: Option<String>,
}

impl MachineArgs {
    /// Index of the CUDA device.
    #[must_use]
    pub fn device(&self) -> usize {
        self.device
    }
}

/// An NVIDIA GPU, open.
pub struct Machine {
    /// Its client.
    pub client: Client,
    device: usize,
    commit: String,
}

impl Machine {
    /// Opens the device.
    ///
    /// # Errors
    /// Where there is none that the kernels run on, or it is not of the asked-for kind.
    pub fn open(args: &MachineArgs) -> Result<Self> {
        let device = cubecl::Device::cuda(args.device).with_context(|| {
            format!(
                "there is no CUDA device {}: this needs an NVIDIA GPU with its driver",
                args.device
            )
        })?;
        let client = device.client();
        let sm = fa2_cubecl::gpu(&client)?.sm;
        ensure!(
            !args.require_ampere || AMPERE.contains(&sm),
            "--require-ampere: {} is sm_{sm}, and Ampere is sm_80, sm_86 or sm_87",
            client.properties().identity.name
        );
        let asked = || output_of("git", &["rev-parse", "--short", "HEAD"]);
        Ok(Self {
            client,
            device: args.device,
            commit: args.commit.clone().unwrap_or_else(asked),
        })
    }

    /// Prints the rows and keeps them.
    ///
    /// # Errors
    /// Where the record can't be written.
    pub fn finish(&self, rows: &[Row], method: &str, out: Option<&Path>) -> Result<()> {
        print_table(rows);
        self.keep(rows, method, out)?;
        if let Some(path) = out {
            println!("record: {}", path.display());
        }
        Ok(())
    }

    /// Keeps the rows at `out` with the machine's facts; again after each shape, so that a run that is
    /// broken off has lost nothing.
    ///
    /// # Errors
    /// Where the record can't be written.
    pub fn keep(&self, rows: &[Row], method: &str, out: Option<&Path>) -> Result<()> {
        let Some(path) = out else { return Ok(()) };
        let query = |field: &str| {
            let id = format!("--id={}", self.device);
            let query = format!("--query-gpu={field}");
            output_of("nvidia-smi", &[&query, "--format=csv,noheader", &id])
        };
        let record = Record {
            gpu: self.client.properties().identity.name.clone(),
            driver: query("driver_version"),
            machine: machine(),
            clocks: query("clocks.max.sm,clocks.max.mem,power.limit"),
            date: jiff::Zoned::now().date().to_string(),
            commit: self.commit.clone(),
            versions: serde_json::json!({ "burn": "0.22.1", "cubecl": "0.11.3" }),
            method: method.into(),
            rows: rows.to_vec(),
        };
        record.write(path)
    }
}

/// Processor and cores, as Linux names them.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches([' ', '\t', ':'])
        });
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {cores} cores")
}

/// What a command prints, or "unknown" where it can't run: a record is worth keeping without it.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => String::new(),
    };
    match text.trim() {
        "" => "unknown".into(),
        text => text.into(),
    }
}

fn print_table(rows: &[Row]) {
    println!(
        "{:8} {:5} {:>4} {:>5} {:>6} {:>6} {:>9} {:>9} {:>9} {:>8}  kernel",
        "path", "dtype", "D", "B*H", "S", "causal", "min us", "median", "max", "TFLOP/s"
    );
    for row in rows {
        let [least, median, most] = row.ms.map(|ms| ms * 1e3);
        println!(
            "{:8} {:5} {:>4} {:>5} {:>6} {:>6} {least:>9.2} {median:>9.2} {most:>9.2} {:>8.1}  {}",
            row.path,
            row.dtype,
            row.d,
            row.b * row.h,
            row.sq,
            row.causal,
            row.tflops,
            row.note
        );
    }
}
