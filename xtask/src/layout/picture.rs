//! A map as a grid of cells: what the table prints and the drawing colours.

use std::ops::Range;

use cute_layout::{Cell, draw_cells};
use fa2_layouts::{Descriptors, Map, Owners, Registers, Storage};

/// Elements of a 16-byte chunk.
const CHUNK: usize = 8;
/// Chunks of the 128 bytes that all banks hold once.
const CHUNKS_PER_LINE: usize = 8;
/// Registers of one instruction's C fragment.
const SUMS: usize = 4;

/// A grid with a label in each cell.
pub(crate) struct Picture {
    /// Rows of cells.
    pub(crate) rows: usize,
    /// Columns of cells.
    pub(crate) columns: usize,
    /// What rows, columns and labels mean.
    pub(crate) legend: String,
    /// What colours mean.
    pub(crate) colours: &'static str,
    /// The cell of each element, at `row + rows column`.
    cells: Vec<Cell>,
}

impl Picture {
    pub(crate) fn of(map: &Map) -> Self {
        match map {
            Map::Owners(map) => Self::of_owners(map),
            Map::Storage(map) => Self::of_storage(map),
            Map::Registers(map) => Self::of_registers(map),
            Map::Descriptors(map) => Self::of_descriptors(map),
        }
    }

    fn of_owners(map: &Owners) -> Self {
        let owners = map.by_element();
        let most = owners.iter().map(Vec::len).max().unwrap_or(0);
        let shared = match most {
            0 | 1 => String::new(),
            _ => format!(", the first of {most}"),
        };
        let [rows, columns] = map.tile;
        Self {
            rows: rows.extent,
            columns: columns.extent,
            legend: format!(
                "rows {}, columns {}; T thread{shared}, V value",
                rows.name, columns.name
            ),
            colours: "one a thread",
            cells: owners
                .iter()
                .map(|owners| match owners.first() {
                    Some((thread, value)) => Cell {
                        label: vec![format!("T{thread}"), format!("V{value}")],
                        owner: *thread,
                    },
                    None => Cell {
                        label: Vec::new(),
                        owner: 0,
                    },
                })
                .collect(),
        }
    }

    fn of_storage(map: &Storage) -> Self {
        let [rows, columns] = map.tile;
        let cell = |at: usize| {
            let offset = map.offset(at % rows.extent, at / rows.extent);
            Cell {
                label: vec![offset.to_string()],
                owner: offset / CHUNK % CHUNKS_PER_LINE,
            }
        };
        Self {
            rows: rows.extent,
            columns: columns.extent,
            legend: format!(
                "rows {}, columns {}; offset in elements",
                rows.name, columns.name
            ),
            colours: "one for each 16 of the 128 bytes of all banks",
            cells: (0..rows.extent * columns.extent).map(cell).collect(),
        }
    }

    fn of_registers(map: &Registers) -> Self {
        let count = map.layout.size();
        let rows = map.layout.mode(0).size();
        let cell = |at: usize| {
            let register = map.register(at);
            Cell {
                label: vec![format!("R{register}")],
                owner: register / SUMS,
            }
        };
        Self {
            rows,
            columns: count / rows,
            legend: "rows: values of one instruction, columns: its repeats; R register".to_owned(),
            colours: "one for every 4 registers, the C fragment of one instruction",
            cells: (0..count).map(cell).collect(),
        }
    }

    fn of_descriptors(map: &Descriptors) -> Self {
        let [rows, columns] = map.counts();
        let row_bytes = map.operand.tile().swizzle_mode().row_bytes();
        let cell = |at: usize| {
            let start = map.start(at % rows, at / rows);
            Cell {
                label: vec![start.to_string()],
                owner: start % row_bytes,
            }
        };
        Self {
            rows,
            columns,
            legend: "rows mu, columns kappa; start in bytes from the tile".to_owned(),
            colours: "one for each start within a row of the tile",
            cells: (0..rows * columns).map(cell).collect(),
        }
    }

    /// The cell at a row and column.
    pub(crate) fn cell(&self, row: usize, column: usize) -> &Cell {
        &self.cells[row + self.rows * column]
    }

    /// These rows and columns as SVG text.
    pub(crate) fn svg(&self, rows: Range<usize>, columns: Range<usize>) -> String {
        draw_cells(rows, columns, |row, column| {
            Some(self.cell(row, column).clone())
        })
    }
}
