//! What ldmatrix delivers is the operand of the multiply atom, in the order that `mma::gemm` uses.
//!
//! `address` repeats the arithmetic of `S2r` around the functions that it calls, since CubeCL's
//! arrays do not exist on the host. What the instruction then delivers, and what the multiply atom
//! needs, are layouts of `cute_layout`.

mod named;

use super::{Operand, steps_per_atom};
use crate::config::tests::grid::{article, grid};
use crate::config::{FwdConfig, MMA_K, RowCopy};
use crate::copy::atom::{CHUNK, Transpose};
use crate::problem::Dtype;
use crate::tensor::evaluate::{evaluate, swizzled};
use cute_layout::bank::{AccessWidth, conflict_ways};
use cute_layout::{CopyAtom, Layout, SmemTile};
use std::collections::BTreeSet;

/// Where shared memory begins: some multiple of the kernel's alignment.
const SHARED: u32 = 3 * 1024;

/// A view of a tile: the address it starts from, and the tile's own.
#[derive(Clone, Copy)]
struct View {
    base: u32,
    tile_base: u32,
    tile: SmemTile,
    operand: Operand,
}

impl View {
    /// Q as `Operands::new` sees it from `warp`.
    fn q(config: &FwdConfig, warp: u32) -> Self {
        let tile = config.q_tile();
        let warp_bytes = 16 * tile.atom_cols() as u32 * Dtype::BYTES;
        let base = SHARED + warp * warp_bytes;
        Self {
            base,
            tile_base: SHARED,
            tile,
            operand: Operand::A,
        }
    }

    /// K in `stage`.
    fn k(config: &FwdConfig, stage: u32) -> Self {
        let base = SHARED + config.q_bytes() + stage * config.stage_bytes();
        Self {
            base,
            tile_base: base,
            tile: config.kv_tile(),
            operand: Operand::B,
        }
    }

    /// V in `stage`.
    fn v(config: &FwdConfig, stage: u32) -> Self {
        let base = Self::k(config, stage).base + config.kv_bytes();
        Self {
            base,
            tile_base: base,
            tile: config.kv_tile(),
            operand: Operand::BTransposed,
        }
    }

    /// `S2r::new`, `step_addresses` and `load`: the address of `lane`.
    fn address(&self, lane: u32, row_tile: usize, col_tile: usize) -> u32 {
        let Self { tile, operand, .. } = *self;
        let layout = operand.lane_layout(tile.atom_cols());
        let base = self.base + swizzled(evaluate(lane, layout), tile.swizzle()) * Dtype::BYTES;
        let steps = steps_per_atom(&tile);
        let step = base ^ ((col_tile % steps) as u32 * MMA_K * Dtype::BYTES);
        let atom_column = col_tile / steps * tile.atom_cols();
        step + tile.offset(row_tile * MMA_K as usize, atom_column) as u32 * Dtype::BYTES
    }

    fn addresses(&self, row_tile: usize, col_tile: usize) -> [u32; 32] {
        std::array::from_fn(|lane| self.address(lane as u32, row_tile, col_tile))
    }

    /// Row and column of the tile that lie at each element offset.
    fn elements(&self) -> Vec<(usize, usize)> {
        let mut elements = vec![(0, 0); self.tile.elements()];
        for row in 0..self.tile.rows() {
            for col in 0..self.tile.cols() {
                elements[self.tile.offset(row, col)] = (row, col);
            }
        }
        elements
    }

    /// Element `half` of register `register` of `lane` after a load from `addresses`, as an element
    /// offset in the tile.
    fn delivered(
        &self,
        atom: &CopyAtom,
        addresses: &[u32; 32],
        [lane, register, half]: [usize; 3],
    ) -> usize {
        let element = atom.dst().at((lane, 2 * register + half));
        let (vector, column) = (element / CHUNK as usize, element % CHUNK as usize);
        ((addresses[vector] - self.tile_base) / Dtype::BYTES) as usize + column
    }

    fn atom(&self) -> CopyAtom {
        match self.operand.transpose() {
            Transpose::No => CopyAtom::ldmatrix_x4(),
            Transpose::Yes => CopyAtom::ldmatrix_x4_trans(),
        }
    }

    /// Blocks of 16 rows and of 16 columns.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (down, along) = (self.tile.rows() / 16, self.tile.cols() / 16);
        (0..down).flat_map(move |row_tile| (0..along).map(move |col_tile| (row_tile, col_tile)))
    }
}

/// Lane, register and half of a load.
fn registers() -> impl Iterator<Item = [usize; 3]> {
    (0..32 * 8).map(|i| [i / 8, i / 2 % 4, i % 2])
}

#[test]
fn base_xor_step_plus_immediate_is_the_offset_of_the_tile() {
    for config in grid(RowCopy::WholeRow) {
        let q = View {
            tile_base: SHARED,
            ..View::q(&config, 0)
        };
        let views = (0..3).flat_map(|stage| [View::k(&config, stage), View::v(&config, stage)]);
        for view in views.chain([q]) {
            for (row_tile, col_tile) in view.blocks() {
                for lane in 0..32 {
                    let (down, beside) = match view.operand {
                        Operand::A | Operand::BTransposed => (lane % 16, lane / 16),
                        Operand::B | Operand::ATransposed => {
                            (lane % 8 + 8 * (lane / 16), lane / 8 % 2)
                        }
                    };
                    let (row, col) = (16 * row_tile + down, 16 * col_tile + 8 * beside);
                    let offset = view.tile.offset(row, col) as u32 * Dtype::BYTES;
                    let address = view.address(lane as u32, row_tile, col_tile);
                    assert_eq!(
                        address,
                        view.tile_base + offset,
                        "{config} {:?}",
                        view.operand
                    );
                }
            }
        }
    }
}

#[test]
fn l6_q_arrives_as_operand_a() {
    for config in grid(RowCopy::WholeRow)
        .into_iter()
        .filter(|c| c.block_n() == 64)
    {
        let (rows, cols) = (config.block_m() as usize, config.head_dim() as usize);
        let identity = Layout::compact((rows, cols));
        for warp in 0..config.warps() {
            let view = View::q(&config, warp);
            let (elements, atom) = (view.elements(), view.atom());
            let fragments: Vec<_> = (0..32)
                .map(|lane| {
                    config
                        .tiled_mma()
                        .partition_a(&identity, 32 * warp as usize + lane)
                })
                .collect::<Result<_, _>>()
                .unwrap();
            for m in 0..config.m_tiles() {
                for step in 0..cols / 16 {
                    let addresses = view.addresses(m * config.warps() as usize, step);
                    for at in registers() {
                        let [lane, register, a0] = at;
                        let (a1, a2) = (register % 2, register / 2);
                        let needed = fragments[lane].at(((a0, a1, a2), m, step));
                        let (row, col) = elements[view.delivered(&atom, &addresses, at)];
                        assert_eq!((row, col), (needed % rows, needed / rows), "{config}");
                    }
                }
            }
        }
    }
}

#[test]
fn l6_k_arrives_as_operand_b_of_two_atoms_along_n() {
    for config in grid(RowCopy::WholeRow)
        .into_iter()
        .filter(|c| c.block_m() == 128)
    {
        let (keys, cols) = (config.block_n() as usize, config.head_dim() as usize);
        let identity = Layout::compact((keys, cols));
        let view = View::k(&config, 1);
        let (elements, atom) = (view.elements(), view.atom());
        let fragments: Vec<_> = (0..32)
            .map(|lane| config.tiled_mma().partition_b(&identity, lane).unwrap())
            .collect();
        for (pair, step) in view.blocks() {
            let addresses = view.addresses(pair, step);
            for at in registers() {
                // Registers (x, y) are the even atom's b1 = 0, 1 and (z, w) the odd one's.
                let [lane, register, b0] = at;
                let (b1, odd) = (register % 2, register / 2);
                let needed = fragments[lane].at(((b0, b1), 2 * pair + odd, step));
                let (key, col) = elements[view.delivered(&atom, &addresses, at)];
                assert_eq!((key, col), (needed % keys, needed / keys), "{config}");
            }
        }
    }
}

#[test]
fn k3_v_arrives_transposed_as_operand_b_of_two_atoms_along_n() {
    for config in grid(RowCopy::WholeRow)
        .into_iter()
        .filter(|c| c.block_m() == 128)
    {
        let (keys, cols) = (config.block_n() as usize, config.head_dim() as usize);
        // O = P V: N runs along V's columns and K along its rows.
        let identity = Layout::compact((cols, keys));
        let view = View::v(&config, 2);
        let (elements, atom) = (view.elements(), view.atom());
        let fragments: Vec<_> = (0..32)
            .map(|lane| config.tiled_mma().partition_b(&identity, lane).unwrap())
            .collect();
        for (step, pair) in view.blocks() {
            let addresses = view.addresses(step, pair);
            for at in registers() {
                let [lane, register, b0] = at;
                let (b1, odd) = (register % 2, register / 2);
                let needed = fragments[lane].at(((b0, b1), 2 * pair + odd, step));
                let (key, col) = elements[view.delivered(&atom, &addresses, at)];
                assert_eq!((col, key), (needed % cols, needed / cols), "{config}");
            }
        }
    }
}

#[test]
fn k2_ldmatrix_has_no_bank_conflict() {
    for config in grid(RowCopy::WholeRow) {
        let warps = (0..config.warps()).map(|warp| View::q(&config, warp));
        for view in warps.chain([View::k(&config, 0), View::v(&config, 0)]) {
            for (row_tile, col_tile) in view.blocks() {
                let addresses = view.addresses(row_tile, col_tile).map(|a| a as usize);
                let ways = conflict_ways(&addresses, AccessWidth::Bytes16).unwrap();
                assert_eq!(ways, 1, "{config} {:?}", view.operand);
            }
        }
    }
}

#[test]
fn k4_a_warp_loads_q_4_k_16_and_v_16_times_and_each_row_once() {
    let config = article(2);
    // The loops of `gemm_ss` and `gemm_rs`.
    let steps = |depth: u32| (depth / MMA_K) as usize;
    let (d_steps, n_steps) = (steps(config.head_dim()), steps(config.block_n()));
    let warp_rows = config.warps() as usize;
    let q: Vec<_> = (0..config.m_tiles())
        .flat_map(|m| (0..d_steps).map(move |step| (m * warp_rows, step)))
        .collect();
    let k = View::k(&config, 0).blocks().collect::<Vec<_>>();
    let v = View::v(&config, 0).blocks().collect::<Vec<_>>();
    assert_eq!((n_steps, d_steps), (4, 4));
    assert_eq!((q.len(), k.len(), v.len()), (4, 16, 16));

    // Distinct 16-byte rows that each set of loads reaches.
    let reached = |view: View, loads: &[(usize, usize)]| -> BTreeSet<u32> {
        loads
            .iter()
            .flat_map(|&(down, along)| view.addresses(down, along))
            .collect()
    };
    let chunks = 64 * 64 / CHUNK as usize;
    // K and V: all of the tile, by every warp. Q: a quarter by each of the four.
    assert_eq!(reached(View::k(&config, 0), &k).len(), chunks);
    assert_eq!(reached(View::v(&config, 0), &v).len(), chunks);
    let of_warps: Vec<_> = (0..4)
        .map(|warp| reached(View::q(&config, warp), &q))
        .collect();
    assert!(of_warps.iter().all(|rows| rows.len() == chunks / 4));
    assert_eq!(
        of_warps
            .into_iter()
            .flatten()
            .collect::<BTreeSet<_>>()
            .len(),
        chunks
    );
}
