//! A thread-value layout as a picture: one cell an element, one colour a thread, labelled `T V`.

use std::fmt::{self, Write};

use crate::error::LayoutError;
use crate::shape_stride::Layout;

/// Pixels of a cell's side.
const CELL: usize = 40;
/// Degrees of hue between threads: the golden angle keeps neighbours apart, however many there are.
const HUE_STEP: usize = 137;

/// Draws a layout `(thread, value)` to the column-major index in a `rows x cols` tile as SVG text.
///
/// Where several threads hold an element, the first is drawn; an element that none holds stays
/// white.
///
/// ```
/// use cute_layout::{MmaAtom, draw_tv};
/// let svg = draw_tv(MmaAtom::m16n8k16().c(), 16, 8)?;
/// assert!(svg.starts_with("<svg") && svg.contains(">T31<"));
/// # Ok::<(), cute_layout::LayoutError>(())
/// ```
pub fn draw_tv(tv: &Layout, rows: usize, cols: usize) -> Result<String, LayoutError> {
    if tv.rank() != 2 {
        return Err(LayoutError::Rank {
            layout: tv.clone(),
            expected: 2,
        });
    }
    let tile = Layout::try_new((rows, cols), (1, rows))?;
    if tv.cosize() > tile.size() {
        return Err(LayoutError::OutOfDomain {
            outer: tile,
            inner: tv.clone(),
        });
    }

    let mut owners = vec![None; tile.size()];
    let (threads, values) = (tv.mode(0), tv.mode(1));
    for thread in 0..threads.size() {
        for value in 0..values.size() {
            let index = threads.nth(thread) + values.nth(value);
            owners[index].get_or_insert((thread, value));
        }
    }

    let mut svg = String::new();
    match write_svg(&mut svg, &owners, rows, cols) {
        Ok(()) => Ok(svg),
        Err(fmt::Error) => unreachable!("writing to a String does not fail"),
    }
}

fn write_svg(
    svg: &mut String,
    owners: &[Option<(usize, usize)>],
    rows: usize,
    cols: usize,
) -> fmt::Result {
    // One more row and column of cells holds the coordinates.
    let (width, height) = ((cols + 1) * CELL, (rows + 1) * CELL);
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"12\" text-anchor=\"middle\">"
    )?;
    for row in 0..rows {
        text(svg, CELL / 2, (row + 1) * CELL + CELL / 2, row)?;
    }
    for col in 0..cols {
        text(svg, (col + 1) * CELL + CELL / 2, CELL / 2, col)?;
    }
    for col in 0..cols {
        for row in 0..rows {
            let (x, y) = ((col + 1) * CELL, (row + 1) * CELL);
            let owner = owners[row + rows * col];
            let fill = owner.map_or("white".to_owned(), |(thread, _)| {
                format!("hsl({},70%,80%)", thread * HUE_STEP % 360)
            });
            writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"{fill}\" \
                 stroke=\"black\"/>"
            )?;
            if let Some((thread, value)) = owner {
                let middle = x + CELL / 2;
                text(svg, middle, y + CELL / 2 - 3, format_args!("T{thread}"))?;
                text(svg, middle, y + CELL / 2 + 11, format_args!("V{value}"))?;
            }
        }
    }
    writeln!(svg, "</svg>")
}

fn text(svg: &mut String, x: usize, y: usize, label: impl fmt::Display) -> fmt::Result {
    writeln!(svg, r#"<text x="{x}" y="{y}">{label}</text>"#)
}
