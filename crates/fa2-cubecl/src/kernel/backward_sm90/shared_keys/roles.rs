//! What two warpgroups that share keys divide among them: the gradients, and what those read.

/// What a warpgroup sums up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Gradient {
    /// dK: dS^T Q.
    Keys,
    /// dV: P^T dO.
    Values,
}

impl Gradient {
    /// The blocks of each pair that the warpgroup has.
    pub(crate) const fn index(self) -> u32 {
        match self {
            Self::Keys => 0,
            Self::Values => 1,
        }
    }

    /// The A operand.
    pub(crate) const fn scores(self) -> Scores {
        match self {
            Self::Keys => Scores::Ds,
            Self::Values => Scores::P,
        }
    }

    /// The B operand.
    pub(crate) const fn side(self) -> Side {
        match self {
            Self::Keys => Side::Queries,
            Self::Values => Side::Outputs,
        }
    }
}

/// What the warpgroups exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scores {
    /// P, for dV.
    P,
    /// dS, for dK.
    Ds,
}

impl Scores {
    /// Who reads both tiles.
    pub(crate) const fn reader(self) -> Gradient {
        match self {
            Self::P => Gradient::Values,
            Self::Ds => Gradient::Keys,
        }
    }
}

/// What is copied together, and is empty together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// Q with the row terms; K.
    Queries,
    /// dO; V.
    Outputs,
}
