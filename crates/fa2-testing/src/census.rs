//! PTX through ptxas and nvdisasm: registers, spills, and how often each instruction stands in the
//! machine code, in the whole kernel and in each of its loops.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable with the folder of ptxas and nvdisasm; `cargo xtask` sets it.
pub const TOOLS_VARIABLE: &str = "FA2_CUDA_TOOLS";

/// Instructions by name, without modifiers of their operands.
pub type Counts = BTreeMap<String, usize>;

/// What ptxas and nvdisasm say of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Registers of a thread.
    pub registers: usize,
    /// Bytes of stack frame (local memory) of a thread.
    pub stack: usize,
    /// Bytes of spill stores.
    pub spill_stores: usize,
    /// Bytes of spill loads.
    pub spill_loads: usize,
    /// Warnings of ptxas, and what it says of wgmma: that it has added waits or serialized products (C75xx).
    pub warnings: Vec<String>,
    /// All instructions: full names, such as `LDSM.16.M88.4`.
    pub kernel: Counts,
    /// Instructions of each loop that multiplies, in order of their end.
    pub loops: Vec<Counts>,
}

impl Census {
    /// Instructions whose name starts with `prefix`, in `counts`.
    #[must_use]
    pub fn count(counts: &Counts, prefix: &str) -> usize {
        counts
            .iter()
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(_, n)| n)
            .sum()
    }

    /// Those whose name starts with `prefix` and holds `part`.
    #[must_use]
    pub fn count_with(counts: &Counts, prefix: &str, part: &str) -> usize {
        let is = |name: &str| name.starts_with(prefix) && name.contains(part);
        counts
            .iter()
            .filter(|(name, _)| is(name))
            .map(|(_, n)| n)
            .sum()
    }
}

/// The folder of the CUDA binary tools.
///
/// # Errors
/// Where neither [`TOOLS_VARIABLE`] nor `PATH` has them: how to get them.
pub fn tools() -> Result<PathBuf, String> {
    let from_variable = std::env::var_os(TOOLS_VARIABLE).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    from_variable
        .into_iter()
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("ptxas").is_file() && folder.join("nvdisasm").is_file())
        .ok_or_else(|| {
            format!(
                "ptxas and nvdisasm are neither in ${TOOLS_VARIABLE} nor on PATH: run this through \
                 `cargo xtask`, which fetches them, or install the CUDA toolkit"
            )
        })
}

/// Assembles `ptx` for `sm` and counts its instructions. Files go to `folder` under `name`.
///
/// # Errors
/// What a tool printed where it failed.
pub fn assemble(ptx: &str, sm: u32, folder: &Path, name: &str) -> Result<Census, String> {
    let tools = tools()?;
    let text = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(text)?;
    let source = folder.join(format!("{name}.ptx"));
    let cubin = folder.join(format!("{name}.cubin"));
    std::fs::write(&source, ptx).map_err(text)?;
    // CubeCL asks for the features of the exact chip where there are such.
    let target = if sm >= 90 {
        format!("sm_{sm}a")
    } else {
        format!("sm_{sm}")
    };
    let report = run(Command::new(tools.join("ptxas"))
        .args(["-v", "-arch", &target])
        .arg(&source)
        .arg("-o")
        .arg(&cubin))?;
    let sass = run(Command::new(tools.join("nvdisasm")).arg("-c").arg(&cubin))?;
    std::fs::write(folder.join(format!("{name}.sass")), &sass).map_err(text)?;
    let mut census = read_report(&report);
    let listing = Listing::read(&sass);
    census.kernel = listing.count(0..listing.names.len());
    census.loops = listing.loops();
    Ok(census)
}

/// Counts the instructions of a kernel in a fatbin's machine code for `sm`; its registers are unknown
/// here. Files go to `folder`.
///
/// # Errors
/// What a tool printed where it failed, or that the kernel is not there.
pub fn disassemble(fatbin: &[u8], kernel: &str, sm: u32, folder: &Path) -> Result<Census, String> {
    let tools = tools()?;
    let text = |error: std::io::Error| format!("{}: {error}", folder.display());
    // cuobjdump writes what it extracts into the folder that it runs in.
    let folder = folder.join(format!("fatbin-sm_{sm}"));
    std::fs::create_dir_all(&folder).map_err(text)?;
    std::fs::write(folder.join("kernels.fatbin"), fatbin).map_err(text)?;
    run(Command::new(tools.join("cuobjdump"))
        .args(["-xelf", &format!("sm_{sm}"), "kernels.fatbin"])
        .current_dir(&folder))?;
    let entries = std::fs::read_dir(&folder).map_err(text)?;
    let is_cubin = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "cubin");
    let cubin = entries
        .flatten()
        .map(|entry| entry.path())
        .find(is_cubin)
        .ok_or_else(|| format!("the fatbin holds no machine code for sm_{sm}"))?;
    let sass = run(Command::new(tools.join("nvdisasm")).arg("-c").arg(&cubin))?;
    let listing = Listing::read(
        section(&sass, kernel).ok_or_else(|| format!("{} lacks {kernel}", cubin.display()))?,
    );
    Ok(Census {
        kernel: listing.count(0..listing.names.len()),
        loops: listing.loops(),
        ..Census::default()
    })
}

/// The lines of `sass` that belong to `kernel`.
fn section<'a>(sass: &'a str, kernel: &str) -> Option<&'a str> {
    let (_, rest) = sass.split_once(&format!("\n.text.{kernel}:\n"))?;
    Some(rest.split("\n.text.").next().unwrap_or(rest))
}

/// Runs `command`; standard output and error together.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = [output.stdout, output.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
    let text = text.concat();
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?} failed:\n{text}"))
    }
}

/// Reads what `ptxas -v` prints.
fn read_report(report: &str) -> Census {
    // "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", "Used 216 registers, ..."
    let number_before = |phrase: &str| {
        let at = report.find(phrase)?;
        report[..at].split_whitespace().next_back()?.parse().ok()
    };
    Census {
        registers: registers(report).unwrap_or(0),
        stack: number_before(" bytes stack frame").unwrap_or(0),
        spill_stores: number_before(" bytes spill stores").unwrap_or(0),
        spill_loads: number_before(" bytes spill loads").unwrap_or(0),
        warnings: report
            .lines()
            .filter(|line| line.contains("warning") || line.contains("(C75"))
            .map(str::to_owned)
            .collect(),
        ..Census::default()
    }
}

/// The number in "Used 216 registers"; other lines speak of registers too.
fn registers(report: &str) -> Option<usize> {
    let (_, after) = report.split_once("Used ")?;
    after.split_once(" registers")?.0.parse().ok()
}

/// Disassembly: instruction names in order, and where labels, branches and ends of the kernel are.
#[derive(Default)]
struct Listing {
    names: Vec<String>,
    labels: BTreeMap<String, usize>,
    branches: Vec<(usize, String)>,
    ends: Vec<usize>,
}

impl Listing {
    fn read(sass: &str) -> Self {
        let mut listing = Self::default();
        for line in sass.lines().map(str::trim) {
            if let Some(label) = line.strip_suffix(':')
                && label.starts_with(".L_x_")
            {
                listing.labels.insert(label.to_owned(), listing.names.len());
            } else if let Some((_, instruction)) = line
                .strip_prefix("/*")
                .and_then(|rest| rest.split_once("*/"))
            {
                listing.push(instruction.trim());
            }
        }
        listing
    }

    fn push(&mut self, instruction: &str) {
        let mut words = instruction.trim_end_matches(';').split_whitespace();
        let first = words.next().unwrap_or_default();
        // A predicate stands before the name.
        let name = if first.starts_with('@') {
            words.next().unwrap_or_default()
        } else {
            first
        };
        if name.is_empty() || name.starts_with("0x") {
            return;
        }
        let name = name.trim_end_matches(';');
        if first == "EXIT" {
            self.ends.push(self.names.len());
        }
        if name.starts_with("BRA")
            && let Some(at) = instruction.find(".L_x_")
        {
            let label = instruction[at..]
                .split([')', '`', ';', ' '])
                .next()
                .unwrap_or_default();
            self.branches.push((self.names.len(), label.to_owned()));
        }
        self.names.push(name.to_owned());
    }

    fn count(&self, range: std::ops::Range<usize>) -> Counts {
        let mut counts = Counts::new();
        for name in &self.names[range] {
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts
    }

    /// From the target of a branch to the branch that goes back there. Behind the end of a kernel stands what it
    /// seldom runs, such as the second look at a barrier: a branch from there back is no loop.
    fn loops(&self) -> Vec<Counts> {
        let ranges = self.branches.iter().filter_map(|(end, label)| {
            let start = *self.labels.get(label)?;
            let ends_between = self.ends.iter().any(|at| (start..*end).contains(at));
            (start < *end && !ends_between).then_some(start..end + 1)
        });
        ranges
            .map(|range| self.count(range))
            .filter(|counts| counts.keys().any(|name| name.contains("MMA")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_gives_registers_stack_and_spills() {
        let report = "ptxas info    : (C7519) warpgroup.arrive is injected to allow use of registers in \
                      GMMA\nptxas info    : Function properties for k\n    8 bytes stack frame, 68 bytes \
                      spill stores, 52 bytes spill loads\nptxas info    : Used 255 registers, used 1 barriers";
        let census = read_report(report);
        assert_eq!((census.registers, census.stack), (255, 8));
        assert_eq!((census.spill_stores, census.spill_loads), (68, 52));
        assert_eq!(census.warnings.len(), 1);
        assert!(census.warnings[0].contains("C7519"));
    }

    #[test]
    fn section_ends_where_the_next_begins() {
        let sass = "head\n.text.one:\n  a\n  b\n.text.two:\n  c\n";
        assert_eq!(section(sass, "one"), Some("  a\n  b"));
        assert_eq!(section(sass, "two"), Some("  c\n"));
        assert_eq!(section(sass, "tw"), None);
    }

    #[test]
    fn loop_is_from_its_label_to_its_backward_branch() {
        let sass = "  /*0000*/  MOV R1, R2 ;\n.L_x_3:\n  /*0010*/  @!P0 HMMA.16816.F32 R0, R1 ;\n  \
                    /*0020*/  BRA `(.L_x_3);\n /*0030*/ EXIT ;";
        let listing = Listing::read(sass);
        assert_eq!(listing.names.len(), 4);
        let loops = listing.loops();
        assert_eq!(loops.len(), 1);
        assert_eq!(Census::count(&loops[0], "HMMA"), 1);
        assert_eq!(Census::count(&loops[0], "MOV"), 0);
    }

    #[test]
    fn way_back_from_behind_the_end_is_no_loop() {
        let sass = ".L_x_1:\n /*0000*/ HMMA R0 ;\n /*0010*/ @P0 EXIT ;\n /*0020*/ @P1 BRA `(.L_x_1) ;\n \
                    /*0030*/ EXIT ;\n /*0040*/ BRA `(.L_x_1) ;";
        let loops = Listing::read(sass).loops();
        assert_eq!(loops.len(), 1);
        assert_eq!(Census::count(&loops[0], "EXIT"), 1);
    }
}
