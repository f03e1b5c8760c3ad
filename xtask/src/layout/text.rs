//! What a person reads of a map: its layout, its formula and its table.

use std::fmt::Write;
use std::ops::Range;

use fa2_layouts::{Map, Name, Sizes};

use super::picture::Picture;

/// Columns of the names in a description.
const MARGIN: usize = 10;

/// Every name with what it is of.
pub(crate) fn list() -> String {
    Name::ALL
        .into_iter()
        .map(|name| format!("{name:15} {}\n", name.about()))
        .collect()
}

/// A map without its table.
pub(crate) fn description(name: Name, sizes: &Sizes, map: &Map) -> String {
    let mut text = format!("{name}: {}\n", name.about());
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:MARGIN$}{value}");
    };
    line("sizes", &sizes.to_string());
    line("layout", &map.layout());
    line("", &signature(map));
    let formula = map.formula().to_string();
    for (i, equation) in formula.lines().enumerate() {
        line(if i == 0 { "formula" } else { "" }, equation);
    }
    text
}

/// The arguments and the result of the layout.
fn signature(map: &Map) -> String {
    match map {
        Map::Owners(map) => {
            let [rows, columns] = map.tile;
            format!(
                "(t, v) to {} + {} {}, of {} threads with {} values each",
                rows.name,
                rows.extent,
                columns.name,
                map.thread_count(),
                map.value_count()
            )
        }
        Map::Storage(map) => {
            let [rows, columns] = map.tile;
            format!(
                "({}, {}) to offset, of a tile of {} x {} elements",
                rows.name, columns.name, rows.extent, columns.extent
            )
        }
        Map::Registers(map) => format!("v to register, of {} registers", map.layout.size()),
    }
}

/// These rows and columns of the grid, with their numbers.
pub(crate) fn table(picture: &Picture, rows: Range<usize>, columns: Range<usize>) -> String {
    let label = |row, column| picture.cell(row, column).label.concat();
    let width = rows
        .clone()
        .flat_map(|row| columns.clone().map(move |column| (row, column)))
        .map(|(row, column)| label(row, column).len())
        .max()
        .unwrap_or(0);
    let margin = rows.end.saturating_sub(1).to_string().len();
    let mut text = format!("{:MARGIN$}{}\n", "table", picture.legend);
    let mut line = |name: String, cells: Vec<String>| {
        let cells: String = cells
            .iter()
            .map(|cell| format!("  {cell:>width$}"))
            .collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:>margin$}{cells}");
    };
    line(
        String::new(),
        columns.clone().map(|column| column.to_string()).collect(),
    );
    for row in rows {
        let cells = columns.clone().map(|column| label(row, column)).collect();
        line(row.to_string(), cells);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn description_shows_layout_and_formula() {
        let sizes = Sizes::ARTICLE;
        let map = Name::CToA.map(&sizes).expect("the sizes are valid");
        assert_eq!(
            description(Name::CToA, &sizes, &map),
            "\
c-to-a: P as operand A of O = P V: coordinate to the register of S as C
sizes     D = 64, BM = 64, BN = 64, 4 warps, half-row copies
layout    ((_2,_2,_2),_1,_4):((_1,_2,_4),_0,_8)
          v to register, of 32 registers
formula   register = 8 kappa + 4 a2 + 2 a1 + a0
          a0 = v % 2, a1 = v / 2 % 2, a2 = v / 4 % 2, kappa = v / 8
"
        );
    }

    #[test]
    fn table_names_thread_and_value_of_each_coordinate() {
        let map = Name::MmaC
            .map(&Sizes::ARTICLE)
            .expect("the sizes are valid");
        let text = table(&Picture::of(&map), 7..9, 6..10);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "       6      7      8      9",
                "7  T31V0  T31V1  T28V4  T28V5",
                "8   T3V2   T3V3   T0V6   T0V7",
            ]
        );
    }

    #[test]
    fn every_layout_has_a_line_in_the_list() {
        let list = list();
        assert_eq!(list.lines().count(), Name::ALL.len());
        assert!(list.lines().all(|line| line.split_whitespace().count() > 2));
    }

    #[test]
    fn drawing_has_a_cell_for_each_coordinate() {
        for name in Name::ALL {
            let map = name.map(&Sizes::ARTICLE).expect("the sizes are valid");
            let picture = Picture::of(&map);
            let svg = picture.svg(0..picture.rows, 0..picture.columns);
            let cells = svg.matches("<rect").count();
            assert_eq!(cells, picture.rows * picture.columns, "{name}");
        }
    }
}
