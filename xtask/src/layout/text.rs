//! What a person reads of a map: its layout, its formula and its table.

use std::fmt::Write;
use std::ops::Range;

use cute_layout::Major;
use fa2_layouts::{Descriptors, Map, Name, Sizes};

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
    if let Map::Descriptors(map) = map {
        for (name, value) in instruction(map) {
            line(name, &value);
        }
    }
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
        Map::Descriptors(map) => {
            let [tiles, steps] = map.counts();
            format!("(mu, kappa) to start, of {tiles} x {steps} instructions")
        }
    }
}

/// What one instruction reads from its start, and the word that it is told.
fn instruction(map: &Descriptors) -> [(&'static str, String); 4] {
    let [rows, depth] = map.instruction;
    let operand = map.operand;
    let descriptor = operand.descriptor(0);
    let layout = descriptor.layout(operand.major(), rows.extent);
    let major = match operand.major() {
        Major::K => "K-major",
        Major::Mn => "MN-major",
    };
    let read = format!(
        "({}, {}) to bytes from there, {major}, of {} x {} elements",
        rows.name, depth.name, rows.extent, depth.extent
    );
    let word = format!("{:#018x} + (tile + start) / 16", descriptor.encode());
    let fields = format!(
        "leading byte offset {}, stride byte offset {}, swizzle of {} bytes",
        descriptor.leading_byte_offset,
        descriptor.stride_byte_offset,
        descriptor.swizzle.row_bytes()
    );
    [
        ("reads", layout.to_string()),
        ("", read),
        ("word", word),
        ("", fields),
    ]
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
    use fa2_layouts::RowCopy;

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
    fn description_of_an_operand_shows_the_descriptor() {
        let sizes = Sizes::new(128, [128, 176], 8, RowCopy::Bulk).expect("the sizes are valid");
        let map = Name::DescriptorVt.map(&sizes).expect("the sizes are valid");
        assert_eq!(
            description(Name::DescriptorVt, &sizes, &map),
            "\
descriptor-vt: V as (d, n), operand B of wgmma, MN-major: instruction to where it starts to read
sizes     D = 128, BM = 128, BN = 176, 8 warps, bulk copies
layout    (_1,_11):(_0,_2048)
          (mu, kappa) to start, of 1 x 11 instructions
reads     Sw<3,4,3> o _0 o ((_64,_2),(_8,_2)):((_2,_22528),(_128,_1024))
          (d, n) to bytes from there, MN-major, of 128 x 16 elements
word      0x4000004005800000 + (tile + start) / 16
          leading byte offset 22528, stride byte offset 1024, swizzle of 128 bytes
formula   start = 2048 kappa
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
        for sizes in [Sizes::ARTICLE, Sizes::ONE_WARPGROUP] {
            for name in Name::of(&sizes) {
                let map = name.map(&sizes).expect("the sizes are valid");
                let picture = Picture::of(&map);
                let svg = picture.svg(0..picture.rows, 0..picture.columns);
                let cells = svg.matches("<rect").count();
                assert_eq!(cells, picture.rows * picture.columns, "{name}");
            }
        }
    }
}
