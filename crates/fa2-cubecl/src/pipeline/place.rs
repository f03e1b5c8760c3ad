//! Where in a ring of tiles a block lies, and which phase of the tile's barriers its use is.
//!
//! Block t lies in tile `t mod stages`; its copy is the `t / stages`-th use of that tile. Barriers in shared
//! memory end one phase with each use, and a thread waits for a phase by its parity.

use cubecl::prelude::*;

/// A use of a tile: which tile, and the parity of the phase that is waited for.
#[derive(CubeType)]
pub(crate) struct Place {
    /// The tile. Fields that change are arrays of one register.
    pub tile: Array<u32>,
    /// The parity.
    pub parity: Array<u32>,
    #[cube(comptime)]
    stages: u32,
}

#[cube]
impl Place {
    /// Block 0; `parity` is 0 for who waits for full tiles, 1 for who waits for empty ones.
    pub fn first(parity: u32, #[comptime] stages: u32) -> Place {
        let mut tile = Array::<u32>::new(1usize);
        let mut parities = Array::<u32>::new(1usize);
        tile[0] = 0u32;
        parities[0] = parity;
        Place {
            tile,
            parity: parities,
            stages,
        }
    }

    /// The next block.
    pub fn advance(&mut self) {
        if comptime!(self.stages == 1) {
            self.parity[0] ^= 1u32;
        } else {
            let next = self.tile[0] + 1;
            let wraps = next == comptime!(self.stages);
            self.tile[0] = select(wraps, 0u32, next);
            self.parity[0] ^= select(wraps, 1u32, 0u32);
        }
    }

    /// The tile of the block before.
    pub fn tile_before(&self) -> u32 {
        if comptime!(self.stages == 1) {
            u32::new(0)
        } else {
            let last = u32::new(comptime!(self.stages as i64 - 1));
            select(self.tile[0] == 0u32, last, self.tile[0] - 1)
        }
    }

    /// Distance of the tile from the first, each of `bytes` bytes.
    pub fn offset(&self, #[comptime] bytes: u32) -> u32 {
        self.tile[0] * bytes
    }
}
