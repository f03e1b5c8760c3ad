//! The loss over the steps, as a picture.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::{
    ChartBuilder, Circle, Color, EmptyElement, IntoDrawingArea, IntoFont, LineSeries, PathElement,
    RGBColor, SVGBackend, SeriesLabelPosition, WHITE,
};

use crate::log::Row;

const SIZE: (u32, u32) = (900, 500);
const FONT: &str = "sans-serif";
const LINE_LENGTH: i32 = 20;
const TRAINING: RGBColor = RGBColor(31, 119, 180);
const VALIDATION: RGBColor = RGBColor(214, 39, 40);

/// Draws `rows` into `file`, an SVG.
pub(crate) fn draw(file: &Path, rows: &[Row]) -> Result<()> {
    // plotters' errors borrow the backend.
    picture(file, rows).map_err(|error| anyhow!("{}: {error}", file.display()))
}

fn picture(file: &Path, rows: &[Row]) -> Result<(), Box<dyn std::error::Error>> {
    let training: Vec<(f64, f64)> = rows.iter().map(|row| (row.step as f64, row.loss)).collect();
    let validation: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|row| Some((row.step as f64, row.validation_loss?)))
        .collect();
    let losses = training.iter().chain(&validation).map(|point| point.1);
    let top = losses.fold(0.0, f64::max) * 1.05;
    let (first, last) = match (training.first(), training.last()) {
        (Some(first), Some(last)) => (first.0, last.0.max(first.0 + 1.0)),
        _ => return Err("a run without a step has no curve".into()),
    };

    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(first..last, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc("step")
        .y_desc("loss, nats a byte")
        .label_style((FONT, 14).into_font())
        .axis_desc_style((FONT, 16).into_font())
        .x_label_formatter(&|step| format!("{step:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    let legend = |color: RGBColor| {
        move |(x, y)| PathElement::new(vec![(x, y), (x + LINE_LENGTH, y)], color.stroke_width(2))
    };
    chart
        .draw_series(LineSeries::new(training, TRAINING.stroke_width(1)))?
        .label("training")
        .legend(legend(TRAINING));
    chart
        .draw_series(LineSeries::new(
            validation.clone(),
            VALIDATION.stroke_width(2),
        ))?
        .label("held out")
        .legend(legend(VALIDATION));
    chart.draw_series(
        validation
            .into_iter()
            .map(|point| EmptyElement::at(point) + Circle::new((0, 0), 3, VALIDATION.filled())),
    )?;
    chart
        .configure_series_labels()
        // Where a loss that falls is not.
        .position(SeriesLabelPosition::UpperRight)
        .label_font((FONT, 14).into_font())
        .background_style(WHITE)
        .draw()?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_curves_are_drawn_and_named() {
        let row = |step, validation_loss| Row {
            step,
            loss: 5.0 / step as f64,
            learning_rate: 1e-3,
            tokens_per_second: 1.0,
            validation_loss,
        };
        let file = std::env::temp_dir().join(format!("train_gpt-{}.svg", std::process::id()));
        draw(&file, &[row(1, None), row(2, Some(3.0)), row(3, Some(2.0))]).unwrap();
        let svg = std::fs::read_to_string(&file).unwrap();
        assert!(
            svg.contains("training") && svg.contains("held out"),
            "{svg}"
        );
        // A curve each, and a line each in the legend.
        assert!(svg.matches("<polyline").count() >= 4, "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
        assert!(draw(&file, &[]).is_err());
        std::fs::remove_file(file).unwrap();
    }
}
