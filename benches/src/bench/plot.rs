//! A record as SVG: TFLOP/s over the length, a chart for each pass, type, head size and mask.
//!
//! A line is the median of the rounds, in a band from the slowest to the fastest.

mod figure;

use crate::bench::record::{Record, Row};
use anyhow::{Context, Result, ensure};
use clap::Args;
use figure::figure;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of `fa2-bench plot`.
#[derive(Debug, Args)]
pub struct PlotArgs {
    /// A record, such as benches/record/h200/forward.json.
    record: PathBuf,
    /// Folder for the charts, one file for each pass and type: fwd_f16.svg.
    #[arg(long)]
    out: PathBuf,
    /// Paths to draw; without it, all.
    #[arg(long, value_delimiter = ',')]
    paths: Vec<String>,
    /// Only shapes with this many heads over the batch.
    #[arg(long)]
    heads: Option<usize>,
}

/// Draws every pass and type of the record.
///
/// # Errors
/// Where the record can't be read, holds nothing to draw, or a file can't be written.
pub fn run(args: &PlotArgs) -> Result<()> {
    let record = Record::read(&args.record)?;
    let mut figures: BTreeMap<(String, String), Vec<&Row>> = BTreeMap::new();
    for row in &record.rows {
        let is_wanted = (args.paths.is_empty() || args.paths.contains(&row.path))
            && args.heads.is_none_or(|heads| heads == row.b * row.h);
        // A line over S has no place for grouped heads or Sq != Sk.
        if is_wanted && row.h == row.hkv && row.sq == row.sk {
            let figure = (row.pass.clone(), row.dtype.clone());
            figures.entry(figure).or_default().push(row);
        }
    }
    ensure!(
        !figures.is_empty(),
        "{} has nothing to draw",
        args.record.display()
    );
    std::fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    for ((pass, dtype), rows) in figures {
        one_shape_a_point(&rows)?;
        let file = args.out.join(format!("{pass}_{dtype}.svg"));
        let title = format!("{}, {pass}, {dtype}", record.gpu);
        let svg = figure(&title, &rows)?;
        std::fs::write(&file, svg).with_context(|| file.display().to_string())?;
        println!("chart: {}", file.display());
    }
    Ok(())
}

/// A length has room for one shape: a record of several batch sizes is drawn one by one.
fn one_shape_a_point(rows: &[&Row]) -> Result<()> {
    let mut shapes = BTreeMap::new();
    for row in rows {
        let heads = row.b * row.h;
        let first = *shapes.entry((row.d, row.causal, row.sq)).or_insert(heads);
        ensure!(
            first == heads,
            "D = {} and S = {} have shapes of {first} and of {heads} heads over the batch: choose with --heads",
            row.d,
            row.sq
        );
    }
    Ok(())
}

/// Median, slowest and fastest TFLOP/s at a length.
#[derive(Clone, Copy)]
struct Point {
    seq: usize,
    low: f64,
    median: f64,
    high: f64,
}

impl Point {
    fn of(row: &Row) -> Self {
        let [least, median, most] = row.ms;
        // FLOP = time * rate: the shortest round is the top of the band.
        Self {
            seq: row.sq,
            low: row.tflops * median / most,
            median: row.tflops,
            high: row.tflops * median / least,
        }
    }
}

/// The points of each path, by length. Of rows told apart by their notes the fastest stands for the
/// path.
fn lines<'a>(rows: &[&'a Row]) -> BTreeMap<&'a str, Vec<Point>> {
    let mut lines: BTreeMap<&str, BTreeMap<usize, Point>> = BTreeMap::new();
    for row in rows {
        let point = Point::of(row);
        lines
            .entry(&row.path)
            .or_default()
            .entry(row.sq)
            .and_modify(|best| {
                if point.median > best.median {
                    *best = point;
                }
            })
            .or_insert(point);
    }
    lines
        .into_iter()
        .map(|(path, points)| (path, points.into_values().collect()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, note: &str, sq: usize, ms: [f64; 3], tflops: f64) -> Row {
        Row {
            pass: "fwd".into(),
            path: path.into(),
            dtype: "f16".into(),
            b: 1,
            h: 1,
            hkv: 1,
            sq,
            sk: sq,
            d: 64,
            causal: false,
            note: note.into(),
            ms,
            tflops,
            gbps: None,
        }
    }

    #[test]
    fn band_spans_the_rounds() {
        let row = row("cubecl", "", 512, [0.5, 1.0, 2.0], 100.0);
        let Point {
            low, median, high, ..
        } = Point::of(&row);
        assert_eq!((low, median, high), (50.0, 100.0, 200.0));
    }

    #[test]
    fn fastest_row_stands_for_its_path() {
        let slow = row("cubecl", "a", 512, [1.0; 3], 100.0);
        let fast = row("cubecl", "b", 512, [0.5; 3], 200.0);
        let lines = lines(&[&slow, &fast]);
        assert_eq!(lines["cubecl"].len(), 1);
        assert_eq!(lines["cubecl"][0].median, 200.0);
    }

    #[test]
    fn shapes_of_different_batches_are_not_mixed() {
        let one = row("cubecl", "", 512, [1.0; 3], 100.0);
        let eight = Row {
            h: 8,
            ..one.clone()
        };
        assert!(one_shape_a_point(&[&one, &one]).is_ok());
        assert!(one_shape_a_point(&[&one, &eight]).is_err());
    }

    #[test]
    fn figure_names_every_path_and_is_the_same_each_time() -> Result<()> {
        let rows: Vec<Row> = ["cubecl", "hopper", "cute", "torch_flash", "unheard_of"]
            .into_iter()
            .flat_map(|path| [512, 1024].map(|sq| row(path, "", sq, [0.9, 1.0, 1.1], 300.0)))
            .collect();
        let rows: Vec<&Row> = rows.iter().collect();
        let svg = figure("a GPU", &rows)?;
        for label in [
            "a GPU",
            "D = 64, full",
            "burn-fa2 (CubeCL)",
            "burn-fa2 (Hopper)",
            "burn-fa2 (CuTe C++)",
            "PyTorch flash (FA2)",
            "unheard_of",
        ] {
            assert!(svg.contains(label), "{label} is missing");
        }
        assert_eq!(svg, figure("a GPU", &rows)?);
        Ok(())
    }
}
