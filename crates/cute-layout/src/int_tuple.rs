//! An integer or a tuple of such: the one data type behind shapes, strides and coordinates.

/// A nested tuple of integers, such as `4`, `(4, 8)` or `((2, 2), 1, 8)`.
///
/// Built from integers and Rust tuples (up to four members) with `into()`:
///
/// ```
/// use cute_layout::IntTuple;
/// let shape: IntTuple = ((2, 2), 1, 8).into();
/// assert_eq!((shape.rank(), shape.depth(), shape.size()), (3, 2, 32));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum IntTuple {
    /// A single integer.
    Int(usize),
    /// A tuple of members, each an integer or a tuple itself.
    Tuple(Vec<IntTuple>),
}

/// Extents of a coordinate space, one per mode.
pub type Shape = IntTuple;

/// Steps through the index space, one per mode and congruent with a [`Shape`].
pub type Stride = IntTuple;

impl IntTuple {
    /// The product of all integers: as a shape, the number of coordinates.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Int(value) => *value,
            Self::Tuple(members) => members.iter().map(Self::size).product(),
        }
    }

    /// The number of members; an integer has one, itself.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.members().len()
    }

    /// The depth of nesting; an integer has none.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::Int(_) => 0,
            Self::Tuple(members) => 1 + members.iter().map(Self::depth).max().unwrap_or(0),
        }
    }

    /// The members; an integer is its own only member.
    #[must_use]
    pub fn members(&self) -> &[Self] {
        match self {
            Self::Int(_) => std::slice::from_ref(self),
            Self::Tuple(members) => members,
        }
    }

    /// All integers from left to right, without the nesting.
    #[must_use]
    pub fn leaves(&self) -> Vec<usize> {
        match self {
            Self::Int(value) => vec![*value],
            Self::Tuple(members) => members.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// Whether both have the same nesting, whatever their integers.
    #[must_use]
    pub fn is_congruent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(_), Self::Int(_)) => true,
            (Self::Tuple(a), Self::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_congruent(b))
            }
            _ => false,
        }
    }

    /// The same nesting with every integer replaced, from left to right.
    pub(crate) fn map(&self, replace: &mut impl FnMut(usize) -> usize) -> Self {
        match self {
            Self::Int(value) => Self::Int(replace(*value)),
            Self::Tuple(members) => Self::Tuple(members.iter().map(|m| m.map(replace)).collect()),
        }
    }

    /// A list of integers as a tuple, except that one integer stays an integer.
    pub(crate) fn from_leaves(leaves: Vec<usize>) -> Self {
        match leaves[..] {
            [leaf] => Self::Int(leaf),
            _ => Self::Tuple(leaves.into_iter().map(Self::Int).collect()),
        }
    }
}

impl From<usize> for IntTuple {
    fn from(value: usize) -> Self {
        Self::Int(value)
    }
}

impl From<&Self> for IntTuple {
    fn from(tuple: &Self) -> Self {
        tuple.clone()
    }
}

impl From<Vec<Self>> for IntTuple {
    fn from(members: Vec<Self>) -> Self {
        Self::Tuple(members)
    }
}

macro_rules! from_rust_tuple {
    ($($member:ident)+) => {
        impl<$($member: Into<IntTuple>),+> From<($($member,)+)> for IntTuple {
            #[expect(non_snake_case, reason = "each member is named after its type parameter")]
            fn from(($($member,)+): ($($member,)+)) -> Self {
                Self::Tuple(vec![$($member.into()),+])
            }
        }
    };
}

from_rust_tuple!(A);
from_rust_tuple!(A B);
from_rust_tuple!(A B C);
from_rust_tuple!(A B C D);
