//! The names of the maps, and what each is of.
//!
//! | digit | of | meaning |
//! |---|---|---|
//! | `q`, `g`, `w` | thread | lane % 4, lane / 4, warp |
//! | `s`, `r` | thread | lane within a row of a copy, and the row |
//! | `i`, `x0`, `x1` | thread | row in a matrix of ldmatrix, and the matrix's number bit by bit |
//! | `e` | value | element of a 16-byte chunk |
//! | `a0` to `a2`, `b0`, `b1`, `c0`, `c1` | value | register bits of operand A, B and of the sum C |
//! | `rm`, `rn`, `rd` | value | repeats along m, n, d |
//! | `nu`, `kappa` | value | repeats of the instruction along its columns and its depth |
//! | `mu`, `kappa` | wgmma | its 64 rows of operand A, and its step of depth |
//! | `kappa0`, `kappa1` | wgmma | its step within an atom of the tile, and the atom |
//! | `o`, `p` | value | the odd one of two neighbouring instructions, and the pair: `nu = 2 p + o` |

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A map of the forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// Q, and K and V alike, to shared memory by rows.
    G2sRow,
    /// V to shared memory, seen as `(d, n)`.
    G2sCol,
    /// Q's tile in shared memory.
    SmemQ,
    /// A K or V block in shared memory.
    SmemKv,
    /// A V block in shared memory, seen as `(d, n)`.
    SmemVt,
    /// Addresses of ldmatrix for Q.
    S2rASource,
    /// Registers after ldmatrix of Q.
    S2rA,
    /// Addresses of ldmatrix for K.
    S2rBSource,
    /// Registers after ldmatrix of K.
    S2rB,
    /// Addresses of the transposing ldmatrix for V.
    S2rBtSource,
    /// Registers after the transposing ldmatrix of V.
    S2rBt,
    /// Operand A of S = Q K^T.
    MmaA,
    /// Operand B of S = Q K^T.
    MmaB,
    /// The sum C of S = Q K^T.
    MmaC,
    /// Register numbers of Q.
    FragmentA,
    /// Register numbers of K.
    FragmentB,
    /// Register numbers of S.
    FragmentC,
    /// Register numbers of P as operand A in the fragment of S.
    CToA,
    /// O from registers to Q's tile.
    R2s,
    /// O from Q's tile to memory.
    S2g,
    /// Starts of Q as operand A of wgmma.
    DescriptorQ,
    /// Starts of K as operand B of wgmma.
    DescriptorK,
    /// Starts of V, seen as `(d, n)`, as operand B of wgmma.
    DescriptorVt,
    /// The sum C of S = Q K^T by wgmma.
    WgmmaC,
    /// Operand A of O = P V by wgmma.
    WgmmaA,
    /// Register numbers of P as operand A in the sum of wgmma.
    WgmmaCToA,
}

/// A word that names no map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no layout `{0}`")]
pub struct UnknownName(
    /// The word.
    pub String,
);

impl Name {
    /// Every map, in the order in which data meets them.
    pub const ALL: [Self; 26] = [
        Self::G2sRow,
        Self::G2sCol,
        Self::SmemQ,
        Self::SmemKv,
        Self::SmemVt,
        Self::S2rASource,
        Self::S2rA,
        Self::S2rBSource,
        Self::S2rB,
        Self::S2rBtSource,
        Self::S2rBt,
        Self::MmaA,
        Self::MmaB,
        Self::MmaC,
        Self::FragmentA,
        Self::FragmentB,
        Self::FragmentC,
        Self::CToA,
        Self::R2s,
        Self::S2g,
        Self::DescriptorQ,
        Self::DescriptorK,
        Self::DescriptorVt,
        Self::WgmmaC,
        Self::WgmmaA,
        Self::WgmmaCToA,
    ];

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.entry().0
    }

    /// What the map is of, in a line.
    #[must_use]
    pub const fn about(self) -> &'static str {
        self.entry().1
    }

    const fn entry(self) -> (&'static str, &'static str) {
        match self {
            Self::G2sRow => (
                "g2s-row",
                "Q by rows to shared memory, 16 bytes a copy; K and V alike along n",
            ),
            Self::G2sCol => (
                "g2s-col",
                "V to shared memory, seen as (d, n): the row copy with its modes exchanged",
            ),
            Self::SmemQ => ("smem-q", "Q's tile in shared memory, later O's"),
            Self::SmemKv => ("smem-kv", "a K or V block in shared memory"),
            Self::SmemVt => (
                "smem-vt",
                "a V block in shared memory, seen as (d, n): the same offsets",
            ),
            Self::S2rASource => (
                "s2r-a-source",
                "Q, the 16-byte rows whose addresses a lane gives to ldmatrix.x4",
            ),
            Self::S2rA => (
                "s2r-a",
                "Q, what ldmatrix.x4 leaves in registers: operand A",
            ),
            Self::S2rBSource => (
                "s2r-b-source",
                "K, the 16-byte rows whose addresses a lane gives to ldmatrix.x4",
            ),
            Self::S2rB => (
                "s2r-b",
                "K, what ldmatrix.x4 leaves in registers: operand B",
            ),
            Self::S2rBtSource => (
                "s2r-bt-source",
                "V as (d, n), the 16-byte rows whose addresses a lane gives to ldmatrix.x4.trans",
            ),
            Self::S2rBt => (
                "s2r-bt",
                "V as (d, n), what ldmatrix.x4.trans leaves in registers: operand B",
            ),
            Self::MmaA => ("mma-a", "Q as operand A of S = Q K^T"),
            Self::MmaB => ("mma-b", "K as operand B of S = Q K^T"),
            Self::MmaC => ("mma-c", "S = Q K^T as the sum C"),
            Self::FragmentA => ("fragment-a", "operand A: coordinate to register"),
            Self::FragmentB => ("fragment-b", "operand B: coordinate to register"),
            Self::FragmentC => ("fragment-c", "the sum C: coordinate to register"),
            Self::CToA => (
                "c-to-a",
                "P as operand A of O = P V: coordinate to the register of S as C",
            ),
            Self::R2s => ("r2s", "O from registers to Q's tile, 4 bytes a store"),
            Self::S2g => ("s2g", "O from Q's tile to memory, 16 bytes a store"),
            Self::DescriptorQ => (
                "descriptor-q",
                "Q as operand A of wgmma, K-major: instruction to where it starts to read",
            ),
            Self::DescriptorK => (
                "descriptor-k",
                "K as operand B of wgmma, K-major: instruction to where it starts to read",
            ),
            Self::DescriptorVt => (
                "descriptor-vt",
                "V as (d, n), operand B of wgmma, MN-major: instruction to where it starts to read",
            ),
            Self::WgmmaC => ("wgmma-c", "S = Q K^T as the sum C of wgmma"),
            Self::WgmmaA => ("wgmma-a", "P as operand A of O = P V, a wgmma"),
            Self::WgmmaCToA => (
                "wgmma-c-to-a",
                "P as operand A of wgmma: coordinate to the register of S as C",
            ),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Name {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| UnknownName(text.to_owned()))
    }
}
