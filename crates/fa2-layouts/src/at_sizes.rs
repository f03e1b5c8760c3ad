//! Which maps the kernels of given sizes have, and each map at these sizes.

use cute_layout::{CopyAtom, LayoutError};
use thiserror::Error;

use crate::copies::{self, Side};
use crate::engine::Engine;
use crate::map::{Map, Storage};
use crate::name::Name;
use crate::products;
use crate::sizes::Sizes;
use crate::warpgroup;

/// A map that kernels of these sizes don't have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The map is of the other engine's kernels.
    #[error("{name} is a map of the {engine} kernels, and {sizes} are sizes of the others")]
    Engine {
        /// The map.
        name: Name,
        /// The engine of the kernels that have it.
        engine: Engine,
        /// The sizes.
        sizes: Sizes,
    },
    /// An operation of the algebra is undefined; never at sizes that obey their rules.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

impl Name {
    /// The maps that kernels of these sizes have.
    pub fn of(sizes: &Sizes) -> impl Iterator<Item = Self> {
        let engine = sizes.row_copy().engine();
        Self::ALL
            .into_iter()
            .filter(move |name| name.engine().is_none_or(|its| its == engine))
    }

    /// The engine whose kernels have the map; `None` where all have it.
    #[must_use]
    pub const fn engine(self) -> Option<Engine> {
        match self {
            // One tile for both: what threads swizzle for SM80, SM90's hardware swizzles alike.
            Self::SmemQ | Self::SmemKv | Self::SmemVt => None,
            Self::DescriptorQ
            | Self::DescriptorK
            | Self::DescriptorVt
            | Self::WgmmaC
            | Self::WgmmaA
            | Self::WgmmaCToA => Some(Engine::Sm90),
            _ => Some(Engine::Sm80),
        }
    }

    /// The map at `sizes`.
    ///
    /// # Errors
    /// Where kernels of these sizes don't have the map.
    pub fn map(self, sizes: &Sizes) -> Result<Map, MapError> {
        match self.engine() {
            Some(engine) if engine != sizes.row_copy().engine() => Err(MapError::Engine {
                name: self,
                engine,
                sizes: *sizes,
            }),
            _ => Ok(self.build(sizes)?),
        }
    }

    fn build(self, sizes: &Sizes) -> Result<Map, LayoutError> {
        match self {
            Self::G2sRow => copies::rows(CopyAtom::cp_async_16(), sizes).map(Map::Owners),
            Self::G2sCol => copies::columns(CopyAtom::cp_async_16(), sizes).map(Map::Owners),
            Self::SmemQ => Ok(Map::Storage(Storage::rows(["m", "d"], sizes.q_tile()))),
            Self::SmemKv => Ok(Map::Storage(Storage::rows(["n", "d"], sizes.kv_tile()))),
            Self::SmemVt => {
                let map = Storage::transposed(["d", "n"], sizes.kv_tile());
                Ok(Map::Storage(map))
            }
            Self::S2rASource => copies::q(sizes, Side::Addresses).map(Map::Owners),
            Self::S2rA => copies::q(sizes, Side::Registers).map(Map::Owners),
            Self::S2rBSource => copies::k(sizes, Side::Addresses).map(Map::Owners),
            Self::S2rB => copies::k(sizes, Side::Registers).map(Map::Owners),
            Self::S2rBtSource => copies::vt(sizes, Side::Addresses).map(Map::Owners),
            Self::S2rBt => copies::vt(sizes, Side::Registers).map(Map::Owners),
            Self::MmaA => products::q(sizes).map(Map::Owners),
            Self::MmaB => products::k(sizes).map(Map::Owners),
            Self::MmaC => products::s(sizes).map(Map::Owners),
            Self::FragmentA => products::q_registers(sizes).map(Map::Registers),
            Self::FragmentB => products::k_registers(sizes).map(Map::Registers),
            Self::FragmentC => products::s_registers(sizes).map(Map::Registers),
            Self::CToA => products::p_registers(sizes).map(Map::Registers),
            Self::R2s => copies::o(sizes).map(Map::Owners),
            Self::S2g => copies::rows(CopyAtom::vector_16(), sizes).map(Map::Owners),
            Self::DescriptorQ => warpgroup::q(sizes).map(Map::Descriptors),
            Self::DescriptorK => warpgroup::k(sizes).map(Map::Descriptors),
            Self::DescriptorVt => warpgroup::vt(sizes).map(Map::Descriptors),
            Self::WgmmaC => warpgroup::s(sizes).map(Map::Owners),
            Self::WgmmaA => warpgroup::p(sizes).map(Map::Owners),
            Self::WgmmaCToA => warpgroup::p_registers(sizes).map(Map::Registers),
        }
    }
}
