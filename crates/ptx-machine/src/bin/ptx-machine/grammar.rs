//! The small languages of the options: extents, buffers, arguments, outputs.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// What a text should have been.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum GrammarError {
    #[error("{text:?} is not one to three numbers with commas, as in 4,2,1")]
    Extent { text: String },
    #[error("{text:?} has no `=` between a buffer's name and {what}")]
    NoEquals { text: String, what: &'static str },
    #[error("{name:?} is no name of a buffer: letters, digits, `_`, `-` and `.`")]
    Name { name: String },
    #[error("{text:?} is no number of bytes")]
    Bytes { text: String },
    #[error("{text:?} is no {ty}")]
    Value { text: String, ty: &'static str },
    #[error("{ty:?} is no type of an argument: u32, u64, f32 or bytes")]
    Type { ty: String },
    #[error("{text:?} is not pairs of hexadecimal digits")]
    Hex { text: String },
    #[error("no file after `=`")]
    NoFile,
}

/// Sizes along x, y, z; the missing ones are 1: `4,2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent(pub(crate) [u32; 3]);

impl FromStr for Extent {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let wrong = || GrammarError::Extent {
            text: text.to_owned(),
        };
        let mut extent = [1; 3];
        for (axis, size) in text.split(',').enumerate() {
            let place = extent.get_mut(axis).ok_or_else(wrong)?;
            *place = size.trim().parse().map_err(|_| wrong())?;
        }
        Ok(Self(extent))
    }
}

/// What a buffer holds at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    File(PathBuf),
    Zeros(usize),
    /// Every byte must be written before it is read.
    Uninitialized(usize),
}

/// `NAME=FILE`, `NAME=zeros:N` or `NAME=uninitialized:N`, N in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) contents: Contents,
}

impl FromStr for Buffer {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let (name, contents) = assignment(text, "its contents")?;
        let contents = match contents.split_once(':') {
            Some(("zeros", count)) => Contents::Zeros(bytes(count)?),
            Some(("uninitialized", count)) => Contents::Uninitialized(bytes(count)?),
            _ => Contents::File(file(contents)?),
        };
        Ok(Self { name, contents })
    }
}

/// `NAME` for a buffer's address, or `u32:V`, `u64:V`, `f32:V`, `bytes:HEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Buffer(String),
    /// As they lie in memory: numbers little-endian.
    Bytes(Vec<u8>),
}

impl FromStr for Argument {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let Some((ty, value)) = text.split_once(':') else {
            return Ok(Self::Buffer(buffer_name(text)?));
        };
        let wrong = |ty| GrammarError::Value {
            text: value.to_owned(),
            ty,
        };
        let bytes = match ty {
            "u32" => {
                let number = unsigned(value).and_then(|value| u32::try_from(value).ok());
                number.ok_or_else(|| wrong("u32"))?.to_le_bytes().to_vec()
            }
            "u64" => {
                let number = unsigned(value).ok_or_else(|| wrong("u64"))?;
                number.to_le_bytes().to_vec()
            }
            "f32" => {
                let number: f32 = value.parse().map_err(|_| wrong("f32"))?;
                number.to_le_bytes().to_vec()
            }
            "bytes" => hexadecimal(value)?,
            _ => return Err(GrammarError::Type { ty: ty.to_owned() }),
        };
        Ok(Self::Bytes(bytes))
    }
}

/// `NAME=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) buffer: String,
    pub(crate) file: PathBuf,
}

impl FromStr for Output {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        let (buffer, path) = assignment(text, "a file")?;
        let file = file(path)?;
        Ok(Self { buffer, file })
    }
}

fn assignment<'t>(text: &'t str, what: &'static str) -> Result<(String, &'t str), GrammarError> {
    let (name, value) = text.split_once('=').ok_or_else(|| GrammarError::NoEquals {
        text: text.to_owned(),
        what,
    })?;
    Ok((buffer_name(name)?, value))
}

fn buffer_name(name: &str) -> Result<String, GrammarError> {
    let valid = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if !name.is_empty() && name.chars().all(valid) {
        return Ok(name.to_owned());
    }
    Err(GrammarError::Name {
        name: name.to_owned(),
    })
}

fn file(path: &str) -> Result<PathBuf, GrammarError> {
    match path {
        "" => Err(GrammarError::NoFile),
        path => Ok(PathBuf::from(path)),
    }
}

fn bytes(text: &str) -> Result<usize, GrammarError> {
    let count = unsigned(text).and_then(|value| usize::try_from(value).ok());
    count.ok_or_else(|| GrammarError::Bytes {
        text: text.to_owned(),
    })
}

/// A decimal number, or a hexadecimal one after `0x`.
fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        // `from_str_radix` would take a sign.
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn hexadecimal(text: &str) -> Result<Vec<u8>, GrammarError> {
    let wrong = || GrammarError::Hex {
        text: text.to_owned(),
    };
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0);
    let pairs = digits.ok_or_else(wrong)?;
    Ok(pairs
        .chunks_exact(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect())
}
