//! A formula is its layout: its text, evaluated by a reader that knows arithmetic only.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod evaluator;
mod grid;

use evaluator::Program;
use fa2_layouts::{Map, Name, RowCopy, Sizes};

#[test]
fn text_of_every_formula_is_its_layout_for_all_threads_and_values() {
    for sizes in grid::sizes() {
        for name in Name::of(&sizes) {
            let map = name.map(&sizes).unwrap();
            let text = map.formula().to_string();
            let context = format!("{name} at {sizes}");
            match map {
                Map::Owners(map) => {
                    let program = Program::new(&text, ["t", "v"]);
                    let names = map.tile.map(|axis| axis.name);
                    for t in 0..map.thread_count() {
                        for v in 0..map.value_count() {
                            assert_eq!(
                                program.run([t, v], names),
                                map.coordinate(t, v),
                                "{context}"
                            );
                        }
                    }
                }
                Map::Storage(map) => {
                    let [rows, cols] = map.tile;
                    let program = Program::new(&text, [rows.name, cols.name]);
                    for row in 0..rows.extent {
                        for col in 0..cols.extent {
                            let [offset] = program.run([row, col], ["offset"]);
                            assert_eq!(offset, map.offset(row, col), "{context}");
                        }
                    }
                }
                Map::Registers(map) => {
                    let program = Program::new(&text, ["t", "v"]);
                    for v in 0..map.layout.size() {
                        let [register] = program.run([0, v], ["register"]);
                        assert_eq!(register, map.register(v), "{context}");
                    }
                }
                Map::Descriptors(map) => {
                    let program = Program::new(&text, ["mu", "kappa"]);
                    let [tiles, steps] = map.counts();
                    for (mu, kappa) in (0..tiles).flat_map(|mu| (0..steps).map(move |k| (mu, k))) {
                        let [start] = program.run([mu, kappa], ["start"]);
                        assert_eq!(start, map.start(mu, kappa), "{context}");
                    }
                }
            }
        }
    }
}

#[test]
fn formulas_of_a_warpgroup_are_those_of_four_warps() {
    let formula = |name: Name, sizes| name.map(sizes).unwrap().formula().to_string();
    let (sm80, sm90) = (Sizes::ARTICLE, Sizes::ONE_WARPGROUP);
    for (ours, theirs) in [(Name::WgmmaC, Name::MmaC), (Name::WgmmaCToA, Name::CToA)] {
        assert_eq!(formula(ours, &sm90), formula(theirs, &sm80));
    }
    let p = "m = 16 w + 8 a1 + g\nn = 16 kappa + 8 a2 + 2 q + a0\n";
    assert!(formula(Name::WgmmaA, &sm90).starts_with(p));
}

#[test]
fn starts_at_two_warpgroups_and_128_columns_are_written_out() {
    let sizes = Sizes::new(128, [128, 176], 8, RowCopy::Bulk).unwrap();
    let steps = "kappa0 = kappa % 4, kappa1 = kappa / 4\n";
    for (name, text) in [
        (
            Name::DescriptorQ,
            "start = 16384 kappa1 + 8192 mu + 32 kappa0\n",
        ),
        (Name::DescriptorK, "start = 22528 kappa1 + 32 kappa0\n"),
    ] {
        let formula = name.map(&sizes).unwrap().formula().to_string();
        assert_eq!(formula, format!("{text}{steps}"), "{name}");
    }
    let formula = Name::DescriptorVt.map(&sizes).unwrap().formula();
    assert_eq!(formula.to_string(), "start = 2048 kappa\n");
}

#[test]
fn formulas_at_the_articles_sizes_are_the_articles() {
    for (claim, name, text) in [
        ("K1", Name::G2sRow, "m = 32 rm + r\nd = 32 rd + 8 s + e\n"),
        ("K3", Name::G2sCol, "d = 32 rd + 8 s + e\nn = 32 rn + r\n"),
        (
            "K2",
            Name::SmemQ,
            "offset = 64 m + (d ^ 8 (m % 8))\noffset = x ^ 8 (x / 64 % 8)\n",
        ),
        (
            "L6",
            Name::MmaA,
            "m = 16 w + 8 a1 + g\nd = 16 kappa + 8 a2 + 2 q + a0\n",
        ),
        (
            "L6",
            Name::MmaB,
            "n = 8 nu + g\nd = 16 kappa + 8 b1 + 2 q + b0\n",
        ),
        (
            "L6",
            Name::MmaC,
            "m = 16 w + 8 c1 + g\nn = 8 nu + 2 q + c0\n",
        ),
        ("L2", Name::FragmentC, "register = 4 nu + 2 c1 + c0\n"),
        ("L8", Name::CToA, "register = 8 kappa + 4 a2 + 2 a1 + a0\n"),
    ] {
        let formula = name.map(&Sizes::ARTICLE).unwrap().formula().to_string();
        assert!(formula.starts_with(text), "{claim} {name}: {formula}");
    }
}
