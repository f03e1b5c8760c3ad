//! One figure: a chart for each head size, across, and mask, down.

use super::{Point, lines};
use crate::bench::record::Row;
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use std::collections::BTreeMap;

/// A path's name in the legend, and its colour: ours stand out, and all can be told apart by the
/// colour-blind (Okabe and Ito's palette).
const STYLES: [(&str, &str, RGBColor); 10] = [
    ("hopper", "burn-fa2 (Hopper)", RGBColor(230, 159, 0)),
    ("cubecl", "burn-fa2 (CubeCL)", RGBColor(213, 94, 0)),
    ("cute", "burn-fa2 (CuTe C++)", RGBColor(0, 158, 115)),
    ("torch_flash", "PyTorch flash (FA2)", RGBColor(0, 114, 178)),
    ("torch_cudnn", "PyTorch cuDNN", RGBColor(86, 180, 233)),
    ("fa2", "FA2", RGBColor(0, 68, 136)),
    ("fa3", "FA3", RGBColor(204, 121, 167)),
    ("fa4", "FA4", RGBColor(136, 34, 85)),
    ("composed", "burn-fa2 (composed)", RGBColor(153, 153, 153)),
    ("burn", "Burn's own", RGBColor(0, 0, 0)),
];

/// Pixels of one chart.
const CHART: (u32, u32) = (420, 300);
/// Pixels of the title line above the charts and of the legend below.
const MARGINS: (u32, u32) = (28, 28);

fn style(path: &str) -> (String, RGBColor) {
    STYLES.iter().find(|(name, ..)| *name == path).map_or_else(
        || (path.to_owned(), RGBColor(187, 187, 187)),
        |(_, label, colour)| ((*label).to_owned(), *colour),
    )
}

/// The figure as SVG text.
pub(super) fn figure(title: &str, rows: &[&Row]) -> Result<String> {
    let mut dims: Vec<usize> = rows.iter().map(|row| row.d).collect();
    let mut masks: Vec<bool> = rows.iter().map(|row| row.causal).collect();
    dims.sort_unstable();
    dims.dedup();
    masks.sort_unstable();
    masks.dedup();
    let size = (
        CHART.0 * dims.len() as u32,
        CHART.1 * masks.len() as u32 + MARGINS.0 + MARGINS.1,
    );
    let top = rows
        .iter()
        .map(|row| Point::of(row).high)
        .fold(0.0, f64::max)
        * 1.05;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(drawing)?;
        let (head, rest) = area.split_vertically(MARGINS.0);
        head.titled(title, ("sans-serif", 16)).map_err(drawing)?;
        let (charts, legend) = rest.split_vertically(size.1 - MARGINS.0 - MARGINS.1);
        let cells = charts.split_evenly((masks.len(), dims.len()));
        for (at, cell) in cells.iter().enumerate() {
            let (causal, d) = (masks[at / dims.len()], dims[at % dims.len()]);
            let here: Vec<&Row> = rows
                .iter()
                .filter(|row| (row.causal, row.d) == (causal, d))
                .copied()
                .collect();
            if !here.is_empty() {
                chart(cell, d, causal, top, &lines(&here))?;
            }
        }
        let paths = lines(rows);
        let step = size.0 / (paths.len() as u32).max(1);
        for (at, path) in ordered(paths.keys().copied()).into_iter().enumerate() {
            let (label, colour) = style(path);
            let x = (at as u32 * step) as i32 + 12;
            let line = PathElement::new(vec![(x, 12), (x + 20, 12)], colour.stroke_width(2));
            legend.draw(&line).map_err(drawing)?;
            let text = Text::new(label, (x + 26, 6), ("sans-serif", 12));
            legend.draw(&text).map_err(drawing)?;
        }
        area.present().map_err(drawing)?;
    }
    Ok(svg)
}

/// Paths in the legend's order; those without a style come last.
fn ordered<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let place = |path: &str| STYLES.iter().position(|(name, ..)| *name == path);
    let mut paths: Vec<&str> = paths.collect();
    paths.sort_by_key(|path| (place(path).unwrap_or(STYLES.len()), *path));
    paths
}

type Cell<'a, 'b> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn chart(
    cell: &Cell<'_, '_>,
    d: usize,
    causal: bool,
    top: f64,
    lines: &BTreeMap<&str, Vec<Point>>,
) -> Result<()> {
    let lengths = || lines.values().flatten().map(|point| point.seq as f64);
    let (first, last) = lengths().fold((f64::MAX, 0.0), |(low, high), seq| {
        (f64::min(low, seq), f64::max(high, seq))
    });
    let mask = if causal { "causal" } else { "full" };
    let mut chart = ChartBuilder::on(cell)
        .caption(format!("D = {d}, {mask}"), ("sans-serif", 13))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(46)
        .build_cartesian_2d((first * 0.9..last * 1.1).log_scale().base(2.0), 0.0..top)
        .map_err(drawing)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(220, 220, 220))
        .x_desc("S")
        .y_desc("TFLOP/s")
        .x_label_formatter(&|seq| length(*seq))
        .y_label_formatter(&|rate| format!("{rate:.0}"))
        .label_style(("sans-serif", 11))
        .draw()
        .map_err(drawing)?;
    for path in ordered(lines.keys().copied()) {
        let (points, (_, colour)) = (&lines[path], style(path));
        let high = points.iter().map(|point| (point.seq as f64, point.high));
        let low = points
            .iter()
            .rev()
            .map(|point| (point.seq as f64, point.low));
        let band: Vec<_> = high.chain(low).collect();
        let band = Polygon::new(band, colour.mix(0.2).filled());
        chart.draw_series([band]).map_err(drawing)?;
        let width = if ["hopper", "cubecl"].contains(&path) {
            3
        } else {
            2
        };
        let median = points.iter().map(|point| (point.seq as f64, point.median));
        let line = LineSeries::new(median, colour.stroke_width(width)).point_size(3);
        chart.draw_series(line).map_err(drawing)?;
    }
    Ok(())
}

fn length(seq: f64) -> String {
    let seq = seq.round() as usize;
    match seq % 1024 {
        0 if seq > 0 => format!("{}k", seq / 1024),
        _ => seq.to_string(),
    }
}

fn drawing(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("drawing: {error}")
}
