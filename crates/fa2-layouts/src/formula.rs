//! A map written out: sums of digits of the thread's and the value's number.
//!
//! A layout is linear in the digits of its coordinates, so its formula is the list of their
//! strides. It prints as one would write it, `16 w + 8 c1 + g`: a number before a name or a
//! parenthesis multiplies it, `/` rounds down, and `^` is the exclusive or.

use std::fmt;

/// An expression over natural numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A variable.
    Name(&'static str),
    /// The sum of terms, each with its factor; 0 without any.
    Sum(Vec<(usize, Expr)>),
    /// The quotient, rounded down.
    Div(Box<Expr>, usize),
    /// The remainder.
    Rem(Box<Expr>, usize),
    /// The exclusive or.
    Xor(Box<Expr>, Box<Expr>),
}

/// `name = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equation {
    /// What is defined.
    pub name: &'static str,
    /// What it is.
    pub value: Expr,
}

/// The equations of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The results, one a line.
    pub results: Vec<Equation>,
    /// The names that these use, in terms of the map's arguments: a line each of those that belong
    /// together.
    pub definitions: Vec<Vec<Equation>>,
}

/// How tightly the operators bind, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Xor,
    Sum,
    Product,
    Quotient,
    Name,
}

impl Expr {
    /// The digit of `number` above `weight`, of `extent` values; `is_last` where no digit is above
    /// it.
    pub(crate) fn digit(number: &'static str, weight: usize, extent: usize, is_last: bool) -> Self {
        let mut digit = Self::Name(number);
        if weight > 1 {
            digit = digit.over(weight);
        }
        if is_last { digit } else { digit.rem(extent) }
    }

    pub(crate) fn over(self, divisor: usize) -> Self {
        Self::Div(Box::new(self), divisor)
    }

    pub(crate) fn rem(self, divisor: usize) -> Self {
        Self::Rem(Box::new(self), divisor)
    }

    pub(crate) fn xor(self, other: Self) -> Self {
        Self::Xor(Box::new(self), Box::new(other))
    }

    /// The sum of the terms whose factor is not 0, the largest factor first: as digits are written.
    pub(crate) fn sum(terms: impl IntoIterator<Item = (usize, Self)>) -> Self {
        let mut terms: Vec<_> = terms
            .into_iter()
            .filter(|(factor, _)| *factor > 0)
            .collect();
        terms.sort_by_key(|(factor, _)| std::cmp::Reverse(*factor));
        match &mut terms[..] {
            [(1, _)] => terms.remove(0).1,
            _ => Self::Sum(terms),
        }
    }

    fn binding(&self) -> Binding {
        match self {
            Self::Name(_) => Binding::Name,
            Self::Sum(terms) if terms.is_empty() => Binding::Name,
            Self::Sum(terms) if terms.len() == 1 => Binding::Product,
            Self::Sum(_) => Binding::Sum,
            Self::Div(..) | Self::Rem(..) => Binding::Quotient,
            Self::Xor(..) => Binding::Xor,
        }
    }

    /// Writes the expression, in parentheses where it binds more loosely than its place wants.
    fn write(&self, f: &mut fmt::Formatter<'_>, place: Binding) -> fmt::Result {
        if self.binding() < place {
            write!(f, "({self})")
        } else {
            write!(f, "{self}")
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Sum(terms) if terms.is_empty() => f.write_str("0"),
            Self::Sum(terms) => {
                for (i, (factor, term)) in terms.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { " + " })?;
                    if *factor == 1 {
                        term.write(f, Binding::Product)?;
                    } else {
                        write!(f, "{factor} ")?;
                        term.write(f, Binding::Name)?;
                    }
                }
                Ok(())
            }
            Self::Div(number, divisor) => {
                number.write(f, Binding::Quotient)?;
                write!(f, " / {divisor}")
            }
            Self::Rem(number, divisor) => {
                number.write(f, Binding::Quotient)?;
                write!(f, " % {divisor}")
            }
            Self::Xor(a, b) => {
                a.write(f, Binding::Product)?;
                f.write_str(" ^ ")?;
                b.write(f, Binding::Product)
            }
        }
    }
}

impl fmt::Display for Equation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for result in &self.results {
            writeln!(f, "{result}")?;
        }
        for definitions in &self.definitions {
            let line: Vec<String> = definitions.iter().map(Equation::to_string).collect();
            writeln!(f, "{}", line.join(", "))?;
        }
        Ok(())
    }
}
