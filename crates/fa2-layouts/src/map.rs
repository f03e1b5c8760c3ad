//! What a map is: who owns a coordinate, where it is stored, which register a view means, or where
//! an instruction reads.

use cute_layout::{Layout, SmemTile, Swizzled};

use crate::descriptors::Descriptors;
use crate::digit::{Axis, Digit, axes, definitions, weights};
use crate::formula::{Equation, Expr, Formula};

/// The number of a thread in its CTA, in formulas.
const THREAD: &str = "t";
/// The number of a value among those of a thread, in formulas.
const VALUE: &str = "v";

/// A map of the forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Map {
    /// Who owns a coordinate.
    Owners(Owners),
    /// Where it is stored.
    Storage(Storage),
    /// Which register a view means.
    Registers(Registers),
    /// Where the instructions start to read an operand.
    Descriptors(Descriptors),
}

impl Map {
    /// The layout as CuTe prints it.
    #[must_use]
    pub fn layout(&self) -> String {
        match self {
            Self::Owners(map) => map.layout.to_string(),
            Self::Storage(map) => map.layout.to_string(),
            Self::Registers(map) => map.layout.to_string(),
            Self::Descriptors(map) => map.layout.to_string(),
        }
    }

    /// The same function as equations.
    #[must_use]
    pub fn formula(&self) -> Formula {
        match self {
            Self::Owners(map) => map.formula(),
            Self::Storage(map) => map.formula(),
            Self::Registers(map) => map.formula(),
            Self::Descriptors(map) => map.formula(),
        }
    }
}

/// `(thread, value)` to the `(row, column)` that the thread holds there, or moves.
///
/// A value's number counts through the modes of the thread's partition, first mode fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    /// The tile `(row, column)`.
    pub tile: [Axis; 2],
    /// `(thread, value)` to `row + rows column`.
    pub layout: Layout,
    /// The thread's number.
    pub threads: Vec<Digit>,
    /// The value's number.
    pub values: Vec<Digit>,
}

impl Owners {
    /// The number of threads.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.layout.mode(0).size()
    }

    /// The number of values of a thread.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.layout.mode(1).size()
    }

    /// `[row, column]` of a thread's value.
    ///
    /// # Panics
    /// Where there is no such thread or value.
    #[must_use]
    pub fn coordinate(&self, thread: usize, value: usize) -> [usize; 2] {
        let index = self.layout.at((thread, value));
        let rows = self.tile[0].extent;
        [index % rows, index / rows]
    }

    /// The `(thread, value)` of each element, at `row + rows column`.
    #[must_use]
    pub fn by_element(&self) -> Vec<Vec<(usize, usize)>> {
        let mut owners = vec![Vec::new(); self.tile[0].extent * self.tile[1].extent];
        for thread in 0..self.thread_count() {
            for value in 0..self.value_count() {
                owners[self.layout.at((thread, value))].push((thread, value));
            }
        }
        owners
    }

    fn formula(&self) -> Formula {
        let of_threads = weights(&self.threads).map(|(digit, weight)| (digit, [weight, 0]));
        let of_values = weights(&self.values).map(|(digit, weight)| (digit, [0, weight]));
        // What a digit adds to the coordinate; nothing for warps that hold the same elements.
        let strides: Vec<(Digit, [usize; 2])> = of_threads
            .chain(of_values)
            .map(|(digit, [thread, value])| (digit, self.coordinate(thread, value)))
            .filter(|(_, stride)| *stride != [0, 0])
            .collect();
        let results = [0, 1].map(|axis| Equation {
            name: self.tile[axis].name,
            value: Expr::sum(
                strides
                    .iter()
                    .map(|(digit, stride)| (stride[axis], Expr::Name(digit.name))),
            ),
        });
        let is_used = |digit: &Digit| strides.iter().any(|(used, _)| used == digit);
        Formula {
            results: results.into(),
            definitions: vec![
                definitions(THREAD, &self.threads, is_used),
                definitions(VALUE, &self.values, is_used),
            ],
        }
    }
}

/// `(row, column)` of a tile to the offset of its element in shared memory, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The tile `(row, column)`.
    pub tile: [Axis; 2],
    /// `(row, column)` to the offset.
    pub layout: Swizzled,
    /// The tile as it is stored: its columns are the contiguous axis.
    stored: SmemTile,
    /// The names of the stored rows and columns.
    stored_names: [&'static str; 2],
}

impl Storage {
    /// A tile as it is stored.
    pub(crate) fn rows(names: [&'static str; 2], stored: SmemTile) -> Self {
        Self {
            tile: axes(names, [stored.rows(), stored.cols()]),
            layout: stored.layout(),
            stored,
            stored_names: names,
        }
    }

    /// A tile whose stored columns are seen as rows: no element moves.
    pub(crate) fn transposed(names: [&'static str; 2], stored: SmemTile) -> Self {
        let [row, col] = names;
        let Swizzled { swizzle, layout } = stored.layout();
        Self {
            tile: axes(names, [stored.cols(), stored.rows()]),
            layout: Swizzled {
                swizzle,
                layout: Layout::from_modes([layout.mode(1), layout.mode(0)]),
            },
            stored,
            stored_names: [col, row],
        }
    }

    /// The offset of a coordinate, in elements.
    ///
    /// # Panics
    /// Where there is no such coordinate.
    #[must_use]
    pub fn offset(&self, row: usize, col: usize) -> usize {
        self.layout.at((row, col))
    }

    /// The offset in closed form, then as the swizzle of the offset `x` without one.
    fn formula(&self) -> Formula {
        let [row, col] = self.stored_names.map(Expr::Name);
        let (stored, swizzle) = (self.stored, self.stored.swizzle());
        let atom_cols = stored.atom_cols();
        let (within, atom) = if stored.cols() == atom_cols {
            (col, None)
        } else {
            let atom_elements = stored.rows() * atom_cols;
            let atom = (atom_elements, col.clone().over(atom_cols));
            (col.rem(atom_cols), Some(atom))
        };
        let (chunk, period) = (1 << swizzle.base(), 1 << swizzle.bits());
        let source = 1 << (swizzle.base() + swizzle.shift());
        // The columns of an atom don't reach the bits that the swizzle reads, and an atom is a
        // whole number of its periods: the row alone decides.
        let rows_per_step = source / atom_cols;
        let row_step = match rows_per_step {
            1 => row.clone(),
            _ => row.clone().over(rows_per_step),
        };
        let moved = Expr::sum([(chunk, row_step.rem(period))]);
        let closed = Expr::sum(
            [(atom_cols, row.clone()), (1, within.clone().xor(moved))]
                .into_iter()
                .chain(atom.clone()),
        );
        let x = Expr::Name("x");
        let moved = Expr::sum([(chunk, x.clone().over(source).rem(period))]);
        let plain = Expr::sum([(atom_cols, row), (1, within)].into_iter().chain(atom));
        let equation = |name, value| Equation { name, value };
        Formula {
            results: vec![equation("offset", closed), equation("offset", x.xor(moved))],
            definitions: vec![vec![equation("x", plain)]],
        }
    }
}

/// A coordinate of a fragment to the register that holds it; the same for every thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// `(MMA, MMA_M or MMA_N, MMA_K or MMA_N)` to the register.
    pub layout: Layout,
    /// The coordinate's number.
    pub values: Vec<Digit>,
}

impl Registers {
    /// The register of coordinate number `value`.
    ///
    /// # Panics
    /// Where there is no such coordinate.
    #[must_use]
    pub fn register(&self, value: usize) -> usize {
        self.layout.nth(value)
    }

    fn formula(&self) -> Formula {
        let terms = weights(&self.values)
            .map(|(digit, weight)| (self.register(weight), Expr::Name(digit.name)));
        Formula {
            results: vec![Equation {
                name: "register",
                value: Expr::sum(terms),
            }],
            definitions: vec![definitions(VALUE, &self.values, |_| true)],
        }
    }
}
