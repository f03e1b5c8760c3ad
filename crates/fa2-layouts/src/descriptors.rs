//! What each wgmma of a product is told of an operand in shared memory: where it starts to read.

use cute_layout::{GmmaDescriptor, GmmaOperand, Layout, LayoutError};

use crate::digit::{Axis, axes, definitions, digits, weights};
use crate::formula::{Equation, Expr, Formula};

/// The instruction's number along the rows of an operand, in formulas.
const ROW_TILE: &str = "mu";
/// The instruction's number along its depth, in formulas.
const STEP: &str = "kappa";
/// Bytes of an element.
const ELEMENT_BYTES: usize = 2;

/// `(mu, kappa)`, the instruction's number along the rows of the operand and along its depth, to
/// the bytes from the tile to its start.
///
/// All else that an instruction is told of the operand is the same for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptors {
    /// The part of the operand `(row, depth)` that one instruction reads.
    pub instruction: [Axis; 2],
    /// The operand.
    pub operand: GmmaOperand,
    /// `(mu, kappa)` to the start.
    pub layout: Layout,
}

impl Descriptors {
    /// The operand by instructions of `[rows, depth]`.
    pub(crate) fn new(
        names: [&'static str; 2],
        operand: GmmaOperand,
        instruction: [usize; 2],
    ) -> Result<Self, LayoutError> {
        // The swizzle leaves the starts alone: they are at whole periods of rows.
        let elements = operand.layout().layout;
        let repeats = elements
            .zipped_divide(&instruction.map(Layout::compact))?
            .mode(1)
            .coalesce_modes();
        let bytes = Layout::new(elements.cosize(), ELEMENT_BYTES);
        Ok(Self {
            instruction: axes(names, instruction),
            operand,
            layout: bytes.compose(&repeats)?,
        })
    }

    /// The numbers of instructions along the rows and along the depth.
    #[must_use]
    pub fn counts(&self) -> [usize; 2] {
        [0, 1].map(|mode| self.layout.mode(mode).size())
    }

    /// The bytes from the tile to the start of instruction `(mu, kappa)`.
    ///
    /// # Panics
    /// Where there is no such instruction.
    #[must_use]
    pub fn start(&self, mu: usize, kappa: usize) -> usize {
        self.layout.at((mu, kappa))
    }

    /// The descriptor of instruction `(mu, kappa)`, for a tile at `address` in shared memory.
    ///
    /// # Panics
    /// Where there is no such instruction.
    #[must_use]
    pub fn descriptor(&self, address: usize, mu: usize, kappa: usize) -> GmmaDescriptor {
        let first = self.operand.descriptor(address);
        first.advance(self.start(mu, kappa))
    }

    pub(crate) fn formula(&self) -> Formula {
        let [tiles, steps] = self.counts();
        let depth = match self.layout.mode(1).modes()[..] {
            [(within, _), (atoms, _)] => digits([("kappa0", within), ("kappa1", atoms)]),
            _ => digits([(STEP, steps)]),
        };
        let rows = digits([(ROW_TILE, tiles)]);
        let of_rows = weights(&rows).map(|(digit, weight)| (digit, [weight, 0]));
        let of_depth = weights(&depth).map(|(digit, weight)| (digit, [0, weight]));
        let terms = of_rows
            .chain(of_depth)
            .map(|(digit, [mu, kappa])| (self.start(mu, kappa), Expr::Name(digit.name)));
        let start = Equation {
            name: "start",
            value: Expr::sum(terms),
        };
        // A number of one digit needs no other name.
        let is_split = depth.len() > 1;
        Formula {
            results: vec![start],
            definitions: is_split
                .then(|| definitions(STEP, &depth, |_| true))
                .into_iter()
                .collect(),
        }
    }
}
