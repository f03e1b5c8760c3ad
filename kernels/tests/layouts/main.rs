//! CuTe's layouts are ours, lane by lane: every line that CuTe's own program prints.
//!
//! The program is compiled with the host's C++ compiler against the headers that the build script
//! found. Where `FA2_CUTE_UNITS=none` asked for no tools, this test is not compiled.
#![cfg(cute_tools)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod parse;
mod program;

use std::collections::{BTreeMap, BTreeSet};

use fa2_layouts::{Descriptors, Map, Name, Owners, Sizes};

/// What CuTe printed of one map.
#[derive(Default)]
struct Printed {
    layout: Option<String>,
    /// Rows and columns of the tile that the layout covers, where it has threads and values.
    tile: Option<[usize; 2]>,
    /// The numbers of each other line.
    lines: BTreeSet<Vec<usize>>,
}

/// What CuTe printed of one kernel.
struct Kernel {
    sizes: Sizes,
    maps: BTreeMap<String, Printed>,
}

fn kernels(text: &str) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let [kind, name, rest] = words[..] else {
            panic!("`{line}` has no value");
        };
        if kind == "sizes" {
            let sizes = sizes(&line[kind.len() + 1..]);
            let maps = BTreeMap::new();
            kernels.push(Kernel { sizes, maps });
            continue;
        }
        let maps = &mut kernels.last_mut().expect("sizes come first").maps;
        let printed = maps.entry(name.replace('_', "-")).or_default();
        let numbers = || rest.split(' ').map(|word| word.parse().unwrap()).collect();
        let is_new = match kind {
            "layout" => printed.layout.replace(rest.to_owned()).is_none(),
            "tile" => {
                let tile: Vec<usize> = numbers();
                printed.tile.replace(tile.try_into().unwrap()).is_none()
            }
            "map" | "offset" | "register" | "descriptor" => printed.lines.insert(numbers()),
            _ => panic!("`{line}` is of no known kind"),
        };
        assert!(is_new, "`{line}` comes once");
    }
    kernels
}

/// `D BM BN warps copies`.
fn sizes(text: &str) -> Sizes {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |i: usize| words[i].parse().unwrap();
    let blocks = [number(1), number(2)];
    Sizes::new(number(0), blocks, number(3), words[4].parse().unwrap()).unwrap()
}

#[test]
fn every_layout_of_cute_is_ours_lane_by_lane() {
    let kernels = kernels(&program::output());
    assert_eq!(kernels[0].sizes, Sizes::ARTICLE);
    let mut seen = BTreeSet::new();
    for Kernel { sizes, maps } in kernels {
        for (name, printed) in maps {
            let context = format!("{name} at {sizes}");
            let map = name.parse::<Name>().unwrap().map(&sizes).unwrap();
            assert_lines(&map, &printed, &context);
            assert_layout(&map, &printed, &context);
            seen.insert(name);
        }
    }
    let all: BTreeSet<String> = Name::ALL.map(|name| name.to_string()).into();
    assert_eq!(seen, all, "CuTe prints every layout");
}

/// CuTe's lines are the whole map, and nothing else.
fn assert_lines(map: &Map, printed: &Printed, context: &str) {
    let ours: BTreeSet<Vec<usize>> = match map {
        Map::Owners(map) => (0..map.thread_count())
            .flat_map(|t| (0..map.value_count()).map(move |v| (t, v)))
            .map(|(t, v)| {
                let [row, column] = map.coordinate(t, v);
                vec![t, v, row, column]
            })
            .collect(),
        Map::Storage(map) => {
            let [rows, columns] = map.tile.map(|axis| axis.extent);
            (0..rows)
                .flat_map(|row| (0..columns).map(move |column| (row, column)))
                .map(|(row, column)| vec![row, column, map.offset(row, column)])
                .collect()
        }
        Map::Registers(map) => (0..map.layout.size())
            .map(|v| vec![v, map.register(v)])
            .collect(),
        Map::Descriptors(map) => {
            let [tiles, steps] = map.counts();
            (0..tiles)
                .flat_map(|mu| (0..steps).map(move |kappa| (mu, kappa)))
                .map(|(mu, kappa)| {
                    let word = map.descriptor(0, mu, kappa).encode();
                    vec![mu, kappa, usize::try_from(word).unwrap()]
                })
                .collect()
        }
    };
    let differs = ours.symmetric_difference(&printed.lines).next();
    assert_eq!(differs, None, "{context}: a line of only one side");
}

/// The layout that CuTe prints is the same function.
fn assert_layout(map: &Map, printed: &Printed, context: &str) {
    let text = printed.layout.as_ref().expect("a layout is printed");
    match map {
        Map::Owners(map) => assert_step(map, text, printed.tile.unwrap(), context),
        Map::Storage(map) => {
            let theirs = parse::swizzled(text);
            assert_eq!(theirs.swizzle, map.layout.swizzle, "{context}");
            let [rows, columns] = map.tile.map(|axis| axis.extent);
            for row in 0..rows {
                for column in 0..columns {
                    let offset = map.offset(row, column);
                    assert_eq!(theirs.at((row, column)), offset, "{context}");
                }
            }
        }
        Map::Registers(map) => assert_eq!(*text, map.layout.to_string(), "{context}"),
        Map::Descriptors(map) => assert_starts(map, text, context),
    }
}

/// The starts of the first warpgroup's instructions are those of CuTe's layout `(MMA, repeats,
/// steps)`, which counts 16 bytes.
fn assert_starts(map: &Descriptors, text: &str, context: &str) {
    let theirs = parse::layout(text);
    let [tiles, steps] = map.counts();
    let [1, repeats, theirs_steps] = theirs.mode_sizes()[..] else {
        panic!("{context}: {text} is not of instructions");
    };
    assert_eq!(steps, theirs_steps, "{context}");
    let warpgroups = tiles / repeats;
    for repeat in 0..repeats {
        for kappa in 0..steps {
            let start = map.start(warpgroups * repeat, kappa);
            assert_eq!(start, 16 * theirs.at((0, repeat, kappa)), "{context}");
        }
    }
}

/// A thread's values within the tile of one step, in order, are those of CuTe's layout.
fn assert_step(map: &Owners, text: &str, [rows, columns]: [usize; 2], context: &str) {
    let theirs = parse::layout(text);
    let [threads, values] = theirs.mode_sizes()[..] else {
        panic!("{context}: {text} is not of threads and values");
    };
    assert_eq!(threads, map.thread_count(), "{context}");
    for t in 0..threads {
        let ours = (0..map.value_count())
            .map(|v| map.coordinate(t, v))
            .filter(|[row, column]| *row < rows && *column < columns);
        let theirs = (0..values).map(|v| {
            let index = theirs.at((t, v));
            [index % rows, index / rows]
        });
        assert!(ours.eq(theirs), "{context}: thread {t} of {text}");
    }
}
