//! From units to the fatbin: nvcc to PTX, ptxas to machine code, fatbinary to one image.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};

use crate::tools::Tools;
use crate::{merge, report};

/// The image in the build script's folder.
pub(crate) const FATBIN: &str = "fa2.fatbin";
/// The architecture of the PTX: the oldest that has the instructions.
const PTX_ARCH: &str = "80";

/// Compiles `units` for `archs`.
pub(crate) fn fatbin(
    tools: &Tools,
    root: &Path,
    out: &Path,
    units: &[String],
    archs: &[String],
) -> Result<()> {
    let modules = in_parallel(units, |unit| ptx(tools, root, out, unit))?;
    let module = out.join("fa2.ptx");
    fs::write(&module, merge::merge(&modules)?).context("cannot write the merged PTX")?;
    let images = in_parallel(archs, |arch| cubin(tools, &module, out, arch))?;
    let text: String = images.iter().map(|(_, text)| text.as_str()).collect();
    fs::write(out.join(report::FILE), text).context("cannot write ptxas's report")?;

    let mut command = Command::new(&tools.fatbinary);
    command
        .arg(argument("--create=", &out.join(FATBIN)))
        .arg("-64");
    for (arch, (cubin, _)) in archs.iter().zip(&images) {
        let prefix = format!("--image3=kind=elf,sm={arch},file=");
        command.arg(argument(&prefix, cubin));
    }
    let prefix = format!("--image3=kind=ptx,sm={PTX_ARCH},file=");
    command.arg(argument(&prefix, &module));
    run(&mut command).map(|_| ())
}

/// The PTX of one unit.
fn ptx(tools: &Tools, root: &Path, out: &Path, unit: &str) -> Result<String> {
    let target = out.join(format!("{unit}.ptx"));
    let mut command = Command::new(&tools.nvcc);
    command
        .args([
            "-std=c++17",
            "-O3",
            "--use_fast_math",
            "--expt-relaxed-constexpr",
            "-ptx",
        ])
        .arg(format!("-arch=compute_{PTX_ARCH}"))
        .arg(argument("-I", &root.join("include")));
    for include in &tools.includes {
        command.arg(argument("-I", include));
    }
    command
        .arg(root.join("src").join(format!("{unit}.cu")))
        .arg("-o")
        .arg(&target);
    // The front end takes a minute a unit: one whose sources and command are those of the last time is
    // kept.
    let stamp = out.join(format!("{unit}.stamp"));
    let inputs = inputs(root, unit, &format!("{} {command:?}", tools.version))?;
    if fs::read_to_string(&stamp).is_ok_and(|last| last == inputs)
        && let Ok(text) = fs::read_to_string(&target)
    {
        return Ok(text);
    }
    run(&mut command)?;
    fs::write(&stamp, inputs).with_context(|| format!("cannot write {}", stamp.display()))?;
    fs::read_to_string(&target).with_context(|| format!("cannot read {}", target.display()))
}

/// A digest of all that a unit's PTX depends on.
fn inputs(root: &Path, unit: &str, command: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    command.hash(&mut hasher);
    let headers = root.join("include/fa2");
    let entries = fs::read_dir(&headers).with_context(|| headers.display().to_string())?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    files.push(root.join("src").join(format!("{unit}.cu")));
    for file in files {
        fs::read(&file)
            .with_context(|| file.display().to_string())?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// The machine code for one architecture, and what ptxas says of it.
fn cubin(tools: &Tools, module: &Path, out: &Path, arch: &str) -> Result<(PathBuf, String)> {
    let target = out.join(format!("fa2.sm_{arch}.cubin"));
    let mut command = Command::new(&tools.ptxas);
    command
        .args(["-O3", "-v", &format!("-arch=sm_{arch}")])
        .arg(module)
        .arg("-o")
        .arg(&target);
    let output = run(&mut command)?;
    let verbose = String::from_utf8_lossy(&output.stderr);
    Ok((target, report::lines(arch, &verbose)))
}

/// `work` on all items, as many at once as there are processors; results in the items' order.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<R>>>> = Mutex::new(items.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = work(item);
                    if let Ok(mut results) = results.lock() {
                        results[at] = Some(result);
                    }
                }
            });
        }
    });
    let results = results
        .into_inner()
        .map_err(|_| anyhow!("a compile thread panicked"))?;
    results
        .into_iter()
        .map(|result| result.context("a compile thread left no result")?)
        .collect()
}

fn argument(prefix: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(prefix);
    argument.push(path);
    argument
}

/// Runs a command; its own words are the error.
fn run(command: &mut Command) -> Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed:\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(output)
}
