//! A tile as a picture: one cell an element, one colour a thread, or whatever else owns it.

use std::fmt::{self, Write};
use std::ops::Range;

use crate::error::LayoutError;
use crate::shape_stride::Layout;

/// Pixels of a cell's side.
const CELL: usize = 40;
/// Pixels from a line of text to the next.
const LINE: usize = 14;
/// Degrees of hue between owners: the golden angle keeps neighbours apart, however many there are.
const HUE_STEP: usize = 137;

/// What is drawn of one element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Lines of text, each as wide as 5 characters at most.
    pub label: Vec<String>,
    /// The number of its owner; equal numbers have equal colours.
    pub owner: usize,
}

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
    Ok(draw_cells(0..rows, 0..cols, |row, col| {
        owners[row + rows * col].map(|(thread, value)| Cell {
            label: vec![format!("T{thread}"), format!("V{value}")],
            owner: thread,
        })
    }))
}

/// Draws these rows and columns of a tile as SVG text: `cell(row, col)` in the colour of its owner,
/// white where there is none.
///
/// ```
/// use cute_layout::{Cell, SmemTile, draw_cells};
/// // Where the elements of a swizzled tile are; one colour for each 16 of the 128 bytes of all
/// // banks, so that a column of 8 rows without a bank conflict has 8 colours.
/// let tile = SmemTile::new(8, 64);
/// let svg = draw_cells(0..8, 0..64, |row, col| {
///     let offset = tile.offset(row, col);
///     Some(Cell { label: vec![offset.to_string()], owner: offset / 8 % 8 })
/// });
/// assert!(svg.contains(">511<"));
/// ```
pub fn draw_cells(
    rows: Range<usize>,
    cols: Range<usize>,
    cell: impl Fn(usize, usize) -> Option<Cell>,
) -> String {
    let mut svg = String::new();
    match write_svg(&mut svg, rows, cols, cell) {
        Ok(()) => svg,
        Err(fmt::Error) => unreachable!("writing to a String does not fail"),
    }
}

fn write_svg(
    svg: &mut String,
    rows: Range<usize>,
    cols: Range<usize>,
    cell: impl Fn(usize, usize) -> Option<Cell>,
) -> fmt::Result {
    // One more row and column of cells holds the coordinates.
    let (width, height) = ((cols.len() + 1) * CELL, (rows.len() + 1) * CELL);
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"12\" text-anchor=\"middle\">"
    )?;
    for (y, row) in (1..).zip(rows.clone()) {
        write_text(svg, CELL / 2, y * CELL + CELL / 2, row)?;
    }
    for (x, col) in (1..).zip(cols.clone()) {
        write_text(svg, x * CELL + CELL / 2, CELL / 2, col)?;
    }
    for (x, col) in (1..).zip(cols) {
        for (y, row) in (1..).zip(rows.clone()) {
            write_cell(svg, x * CELL, y * CELL, cell(row, col))?;
        }
    }
    writeln!(svg, "</svg>")
}

fn write_cell(svg: &mut String, x: usize, y: usize, cell: Option<Cell>) -> fmt::Result {
    let fill = cell.as_ref().map_or("white".to_owned(), |cell| {
        format!("hsl({},70%,80%)", cell.owner * HUE_STEP % 360)
    });
    writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"{fill}\" \
         stroke=\"black\"/>"
    )?;
    let label = cell.map(|cell| cell.label).unwrap_or_default();
    // The lines stand around the middle of the cell; a line's y is its foot.
    let first = y + CELL / 2 + 4 - label.len().saturating_sub(1) * LINE / 2;
    for (line, text) in label.iter().enumerate() {
        write_text(svg, x + CELL / 2, first + line * LINE, text)?;
    }
    Ok(())
}

fn write_text(svg: &mut String, x: usize, y: usize, label: impl fmt::Display) -> fmt::Result {
    writeln!(svg, r#"<text x="{x}" y="{y}">{label}</text>"#)
}
