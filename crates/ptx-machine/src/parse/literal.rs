//! Constants, and their bits in the type of the instruction that uses them.

use std::fmt;

use winnow::{
    Parser, Result,
    ascii::{digit0, digit1, hex_digit1, oct_digit1},
    combinator::{alt, opt, preceded, terminated},
    token::{one_of, take_while},
};

use crate::module::ScalarType;

/// A constant without its sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Literal {
    /// `12`, `0x1F`, `017`, `0b101`.
    Integer(u64),
    /// `0f3F800000`: the bits of an f32.
    Single(u32),
    /// `0d3FF0000000000000` or `1.5`.
    Double(f64),
}

impl Literal {
    /// The constant's bits as a `ty`, negated if asked; `None` where the type cannot hold it.
    pub(super) fn bits(self, negative: bool, ty: ScalarType) -> Option<u64> {
        let width = ty.bits();
        match self {
            Self::Integer(_) if matches!(ty, ScalarType::F32 | ScalarType::F64) => None,
            Self::Integer(value) => integer(value, negative, width),
            Self::Single(bits) => {
                let bits = bits ^ (u32::from(negative) << 31);
                match ty {
                    ScalarType::F64 => Some(f64::from(f32::from_bits(bits)).to_bits()),
                    _ if width == 32 => Some(bits.into()),
                    _ => None,
                }
            }
            Self::Double(value) => {
                let value = if negative { -value } else { value };
                match ty {
                    #[expect(clippy::cast_possible_truncation, reason = "rounds to nearest")]
                    ScalarType::F32 => Some((value as f32).to_bits().into()),
                    _ if width == 64 => Some(value.to_bits()),
                    _ => None,
                }
            }
        }
    }
}

/// Both readings of `width` bits are admitted: `-1` and `0xFFFFFFFF` are the same u32.
fn integer(value: u64, negative: bool, width: u32) -> Option<u64> {
    let mask = u64::MAX >> (64 - width);
    if negative {
        (value <= mask / 2 + 1).then(|| value.wrapping_neg() & mask)
    } else {
        (value <= mask).then_some(value)
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Single(bits) => write!(f, "0f{bits:08X}"),
            Self::Double(value) => write!(f, "{value:?}"),
        }
    }
}

/// A constant's text.
pub(super) fn literal(input: &mut &str) -> Result<Literal> {
    alt((single, double, decimal_fraction, integer_text)).parse_next(input)
}

fn single(input: &mut &str) -> Result<Literal> {
    preceded(
        ("0", one_of(['f', 'F'])),
        take_while(8, |c: char| c.is_ascii_hexdigit()),
    )
    .try_map(|digits| u32::from_str_radix(digits, 16).map(Literal::Single))
    .parse_next(input)
}

fn double(input: &mut &str) -> Result<Literal> {
    preceded(
        ("0", one_of(['d', 'D'])),
        take_while(16, |c: char| c.is_ascii_hexdigit()),
    )
    .try_map(|digits| u64::from_str_radix(digits, 16))
    .map(|bits| Literal::Double(f64::from_bits(bits)))
    .parse_next(input)
}

fn decimal_fraction(input: &mut &str) -> Result<Literal> {
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    alt((
        (digit1, '.', digit0, opt(exponent)).take(),
        (digit1, one_of(['e', 'E']), digit1).take(),
    ))
    .try_map(|text: &str| text.parse().map(Literal::Double))
    .parse_next(input)
}

fn integer_text(input: &mut &str) -> Result<Literal> {
    let hexadecimal = preceded(("0", one_of(['x', 'X'])), hex_digit1).map(|d| (d, 16));
    let binary = preceded(("0", one_of(['b', 'B'])), take_while(1.., ['0', '1'])).map(|d| (d, 2));
    let octal = preceded("0", oct_digit1).map(|d| (d, 8));
    let decimal = digit1.map(|d| (d, 10));
    terminated(alt((hexadecimal, binary, octal, decimal)), opt('U'))
        .try_map(|(digits, radix)| u64::from_str_radix(digits, radix).map(Literal::Integer))
        .parse_next(input)
}
