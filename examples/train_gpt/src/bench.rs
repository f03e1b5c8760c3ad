//! Tokens a second and peak memory by attention and length.
//!
//! Each measurement runs in a process of its own: it starts with empty memory pools, and where it
//! runs out of memory that is its result, not the end of the others.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::attention::Attention;
use crate::choices::ShapeArgs;
use crate::device::{self, DeviceArg, Target};
use crate::measure::Measurement;
use crate::record::{Failure, Record, Row, driver};
use crate::report::GIB;
use crate::settings::Settings;
use crate::sizes::Sizes;

/// How backends say that memory ran out, in lower case.
const OUT_OF_MEMORY: [&str; 3] = ["out of memory", "outofmemory", "out_of_memory"];
/// What sets how much CubeCL tunes.
const AUTOTUNE_LEVEL: &str = "CUBECL_AUTOTUNE_LEVEL";
/// How often a process is asked whether it has ended.
const POLL: Duration = Duration::from_millis(50);

/// Measure training by attention and length.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    shape: ShapeArgs,

    /// Tokens of a sequence, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "2048,8192")]
    lengths: Vec<usize>,

    /// What to measure, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "fa2,burn")]
    attentions: Vec<Attention>,

    /// Tokens of a step: as many sequences as that makes, at least one
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    tokens: usize,

    /// Steps before the timed ones: Burn compiles and tunes its kernels in the first
    #[arg(long, value_name = "STEPS", default_value_t = 3)]
    warm_up: usize,

    /// Timed steps
    #[arg(long, value_name = "STEPS", default_value_t = 10)]
    rounds: usize,

    /// A measurement that takes longer is stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    time_limit: u64,

    /// Where to run
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto)]
    device: DeviceArg,

    /// Write the record here, as JSON
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// The commit that the record names
    #[arg(long, default_value = "unknown")]
    commit: String,
}

/// Measures everything asked for.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    ensure!(args.rounds > 0, "--rounds 0: there is nothing to time");
    let target = device::choose(args.device)?;
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    println!("device  {}\n", target.name);
    println!("  S      B  attention   tokens/s   peak GiB");
    for &length in &args.lengths {
        for &attention in &args.attentions {
            let settings = args.settings(length, attention, &target)?;
            let start = format!("{length:>6} {:>4}  {:<9}", settings.batch, attention.name());
            match args.measure(&settings, &target)? {
                Ok(row) => {
                    let memory = row.peak_bytes.map_or("-".to_string(), |bytes| {
                        format!("{:.2}", bytes as f64 / GIB)
                    });
                    println!("{start} {:>10.0} {memory:>10}", row.tokens_per_second);
                    rows.push(row);
                }
                Err(reason) => {
                    println!("{start}  {reason}");
                    failures.push(Failure {
                        attention: attention.name(),
                        b: settings.batch,
                        sq: length,
                        reason,
                    });
                }
            }
            // After each, so that an end before the last loses nothing that was measured.
            if let Some(file) = &args.record {
                args.record(&target, &rows, &failures).write(file)?;
            }
        }
    }
    Ok(())
}

impl BenchArgs {
    fn settings(&self, length: usize, attention: Attention, target: &Target) -> Result<Settings> {
        let shape = self.shape.settings(target.kind);
        let settings = Settings {
            sizes: Sizes {
                context: length,
                ..shape.sizes
            },
            batch: (self.tokens / length.max(1)).max(1),
            steps: self.warm_up + self.rounds,
            attention,
            ..shape
        };
        settings.check()?;
        Ok(settings)
    }

    /// A row, or the reason why there is none.
    fn measure(&self, settings: &Settings, target: &Target) -> Result<Result<Row, String>> {
        let program = std::env::current_exe().context("this program's own path is unknown")?;
        let mut command = Command::new(program);
        command
            .arg("measure")
            .args(["--settings", &serde_json::to_string(settings)?])
            .args(["--device", target.kind.argument()])
            .args(["--warm-up", &self.warm_up.to_string()])
            .args(["--rounds", &self.rounds.to_string()]);
        let limit = Duration::from_secs(self.time_limit);
        let end = Ended::of(&mut command, limit).context("a measurement can't be started")?;
        Ok(end.row(settings))
    }

    fn record(&self, target: &Target, rows: &[Row], failures: &[Failure]) -> Record {
        Record {
            gpu: target.name.clone(),
            driver: driver(),
            date: jiff::Zoned::now().date().to_string(),
            commit: self.commit.clone(),
            versions: serde_json::json!({ "burn": "0.22.1", "cubecl": "0.11.3" }),
            method: format!(
                "host clock around one training step (batch, forward, backward, clipping, AdamW), \
                 from an idle device to an idle device; {} steps before, {} timed; a process each, \
                 in which the attention was checked first; tflops is the whole model's, 6 N + 6 L \
                 H D S a token; peak_bytes is what CubeCL's pools held; autotune level {}",
                self.warm_up,
                self.rounds,
                std::env::var(AUTOTUNE_LEVEL).unwrap_or_else(|_| "as configured".to_string())
            ),
            rows: rows.to_vec(),
            failures: failures.to_vec(),
        }
    }
}

/// How a process ended; no status where it was stopped.
struct Ended {
    status: Option<ExitStatus>,
    stdout: String,
    stderr: String,
}

impl Ended {
    /// Runs `command` to its end, or stops it at `limit`.
    fn of(command: &mut Command, limit: Duration) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        // Read while it runs: a full pipe would hold it up.
        let stdout = child.stdout.take().map(read);
        let stderr = child.stderr.take().map(read);
        let status = wait(&mut child, limit)?;
        let text = |reader: Option<JoinHandle<String>>| {
            let joined = reader.map(JoinHandle::join);
            joined.and_then(|text| text.ok()).unwrap_or_default()
        };
        Ok(Self {
            status,
            stdout: text(stdout),
            stderr: text(stderr),
        })
    }

    /// The row that it printed, or why there is none.
    fn row(&self, settings: &Settings) -> Result<Row, String> {
        let all = format!("{}{}", self.stdout, self.stderr).to_lowercase();
        if OUT_OF_MEMORY.iter().any(|words| all.contains(words)) {
            return Err("out of memory".to_string());
        }
        let Some(status) = self.status else {
            return Err("stopped at the time limit".to_string());
        };
        let line = self.stdout.lines().last().unwrap_or_default();
        let measurement = serde_json::from_str::<Measurement>(line).ok();
        let row = measurement.and_then(|measurement| Row::new(settings, measurement));
        match row {
            Some(row) if status.success() => Ok(row),
            _ => {
                let said = self.stderr.lines().find(|line| !line.trim().is_empty());
                Err(format!("{status}: {}", said.unwrap_or("it said nothing")))
            }
        }
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still worth reading.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::toy;

    fn ended(script: &str) -> Ended {
        let limit = Duration::from_secs(1);
        Ended::of(Command::new("sh").args(["-c", script]), limit).expect("sh is there")
    }

    #[test]
    fn the_last_line_of_a_process_is_its_measurement() {
        let line = r#"{"path":"burn","ms":[2.0,1.0,3.0],"peak_bytes":null,"loss":1.0}"#;
        let row = ended(&format!("echo noise; echo '{line}'")).row(&toy());
        assert_eq!(row.unwrap().tokens_per_second, 16_000.0);
        let failed = ended(&format!("echo '{line}'; exit 3")).row(&toy());
        assert!(failed.is_err(), "a process that fails measured nothing");
    }

    #[test]
    fn a_process_that_ends_badly_is_a_reason_and_no_panic() {
        let reason = |script| ended(script).row(&toy()).unwrap_err();
        assert_eq!(
            reason("echo CUDA_ERROR_OUT_OF_MEMORY >&2; exit 101"),
            "out of memory"
        );
        assert_eq!(reason("exec sleep 60"), "stopped at the time limit");
        assert!(reason("echo its own words >&2; exit 7").contains("its own words"));
        assert!(reason("true").contains("it said nothing"));
    }
}
