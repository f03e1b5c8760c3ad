//! The axes of tiles, and numbers written in digits.

use crate::formula::{Equation, Expr};

/// One of the two modes of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// What it counts: `m`, `n` or `d`.
    pub name: &'static str,
    /// How far.
    pub extent: usize,
}

/// A digit of a number in a mixed radix; the first digit of a list is the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// Its name in formulas.
    pub name: &'static str,
    /// The number of its values.
    pub extent: usize,
}

pub(crate) fn axes(names: [&'static str; 2], extents: [usize; 2]) -> [Axis; 2] {
    [0, 1].map(|axis| Axis {
        name: names[axis],
        extent: extents[axis],
    })
}

pub(crate) fn digits(list: impl IntoIterator<Item = (&'static str, usize)>) -> Vec<Digit> {
    let digit = |(name, extent)| Digit { name, extent };
    list.into_iter().map(digit).collect()
}

/// The digits that have more than one value, each with the number that its 1 stands for.
pub(crate) fn weights(digits: &[Digit]) -> impl Iterator<Item = (Digit, usize)> + '_ {
    digits
        .iter()
        .scan(1, |weight, &digit| {
            let here = *weight;
            *weight *= digit.extent;
            Some((digit, here))
        })
        .filter(|(digit, _)| digit.extent > 1)
}

/// The digits of `number` that `is_used` holds for.
pub(crate) fn definitions(
    number: &'static str,
    digits: &[Digit],
    is_used: impl Fn(&Digit) -> bool,
) -> Vec<Equation> {
    let count: usize = digits.iter().map(|digit| digit.extent).product();
    weights(digits)
        .filter(|(digit, _)| is_used(digit))
        .map(|(digit, weight)| Equation {
            name: digit.name,
            value: Expr::digit(number, weight, digit.extent, weight * digit.extent == count),
        })
        .collect()
}
