//! Everything prints as CuTe prints it: `Shape:Stride`, an underscore before each constant.
//!
//! A layout of this crate is a constant of the kernel it describes, so every integer has one.

use std::fmt;

use crate::int_tuple::IntTuple;
use crate::shape_stride::Layout;
use crate::swizzle::{Swizzle, Swizzled};

impl fmt::Display for IntTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "_{value}"),
            Self::Tuple(members) => {
                f.write_str("(")?;
                for (i, member) in members.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{member}")?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape(), self.stride())
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits(), self.base(), self.shift())
    }
}

impl fmt::Display for Swizzled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The middle factor is CuTe's offset between the two functions, always 0 here.
        write!(f, "{} o _0 o {}", self.swizzle, self.layout)
    }
}

// A failed assertion is read by people: the notation says more than the derived tree would.

impl fmt::Debug for IntTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
