//! Every 16-byte chunk of a tile is copied once, to where the tile's layout wants it.
//!
//! CubeCL's arrays do not exist on the host: `instructions` repeats the loops of `RowCopier`
//! around the functions that they call.

use crate::config::tests::grid::{article, grid, of, owners};
use crate::config::{FwdConfig, HEAD_DIMS, RowCopy, Tile};
use crate::copy::atom::CHUNK;
use crate::problem::Dtype;
use crate::tensor::evaluate::{evaluate, swizzled};
use cute_layout::SmemTile;
use cute_layout::bank::{AccessWidth, conflict_ways};
use fa2_layouts::Name;
use std::collections::BTreeSet;

/// One 16-byte copy.
#[derive(Clone, Copy, Debug)]
struct Move {
    thread: u32,
    /// Row and column that decide whether the chunk exists.
    row: u32,
    column: u32,
    /// Byte offset that is read, from the matrix's first row.
    source: u64,
    /// Byte offset that is written, from the tile's base.
    target: u32,
}

/// Bytes of a row in global memory: some more than the columns need.
fn row_bytes(tile: SmemTile) -> u64 {
    (tile.cols() as u32 * Dtype::BYTES) as u64 + 48
}

/// The copies of `tile`: for each instruction, those of all threads.
fn instructions(config: &FwdConfig, tile: SmemTile) -> Vec<Vec<Move>> {
    let groups = config.row_share().groups_per_atom();
    let lanes = config.lanes_per_row();
    let group_cols = lanes * CHUNK;
    let pass_rows = config.rows_per_pass();
    let row_bytes = row_bytes(tile);
    let mut instructions = Vec::new();
    for pass in 0..tile.rows() as u32 / pass_rows {
        for step in 0..tile.cols() as u32 / group_cols {
            let group = step as usize % groups;
            let atom = step as usize / groups * tile.atom_cols();
            let of_thread = |thread| {
                let offset = swizzled(
                    evaluate(thread, config.row_share().thread_layout()),
                    config.q_tile().swizzle(),
                );
                let chunk = (offset ^ (group as u32 * lanes * CHUNK)) * Dtype::BYTES;
                let (row, column) = (thread / lanes, thread % lanes * CHUNK);
                let first = row as u64 * row_bytes + (column * Dtype::BYTES) as u64;
                let passed = pass as u64 * row_bytes * pass_rows as u64;
                Move {
                    thread,
                    row: row + pass * pass_rows,
                    column: column + step * group_cols,
                    source: first + passed + (step * group_cols * Dtype::BYTES) as u64,
                    target: chunk
                        + tile.offset((pass * pass_rows) as usize, atom) as u32 * Dtype::BYTES,
                }
            };
            instructions.push((0..config.threads()).map(of_thread).collect());
        }
    }
    instructions
}

/// Every configuration with both of its tiles.
fn tiles() -> impl Iterator<Item = (FwdConfig, SmemTile)> {
    [RowCopy::WholeRow, RowCopy::HalfRow]
        .into_iter()
        .flat_map(grid)
        .flat_map(|config| [(config, config.q_tile()), (config, config.kv_tile())])
}

#[test]
fn k1_every_chunk_is_copied_exactly_once() {
    for (config, tile) in tiles() {
        let moves: Vec<Move> = instructions(&config, tile).into_iter().flatten().collect();
        let chunks = tile.elements() / CHUNK as usize;
        assert_eq!(moves.len(), chunks, "{config}");
        let read: BTreeSet<_> = moves.iter().map(|m| (m.row, m.column / CHUNK)).collect();
        let written: BTreeSet<_> = moves.iter().map(|m| m.target).collect();
        let columns = tile.cols() as u32 / CHUNK;
        let all = (0..tile.rows() as u32).flat_map(|row| (0..columns).map(move |c| (row, c)));
        assert!(read.into_iter().eq(all), "{config}");
        assert!(
            written.into_iter().eq((0..chunks as u32).map(|c| 16 * c)),
            "{config}"
        );
    }
}

#[test]
fn source_target_and_predicate_meet_at_the_same_row_and_column() {
    for (config, tile) in tiles() {
        for m in instructions(&config, tile).into_iter().flatten() {
            let source = m.row as u64 * row_bytes(tile) + (m.column * Dtype::BYTES) as u64;
            assert_eq!(m.source, source, "{config} {m:?}");
            let target = tile.offset(m.row as usize, m.column as usize) as u32 * Dtype::BYTES;
            assert_eq!(m.target, target, "{config} {m:?}");
        }
    }
}

#[test]
fn threads_copy_what_the_named_map_gives_them() {
    // One size of K/V blocks: the map is the same for both tiles.
    let configs = [RowCopy::WholeRow, RowCopy::HalfRow]
        .into_iter()
        .flat_map(grid);
    for config in configs.filter(|config| config.block_n() == 64) {
        let map = owners(Name::G2sRow, &config);
        let mut copied = vec![BTreeSet::new(); config.threads() as usize];
        for m in instructions(&config, config.q_tile()).into_iter().flatten() {
            copied[m.thread as usize].insert([m.row as usize, m.column as usize]);
        }
        for (thread, copied) in copied.into_iter().enumerate() {
            let owned: BTreeSet<_> = (0..map.value_count())
                .step_by(CHUNK as usize)
                .map(|value| map.coordinate(thread, value))
                .collect();
            assert_eq!(copied, owned, "{config} thread {thread}");
        }
    }
}

#[test]
fn k1_half_row_copies_are_the_articles_formulas() {
    let config = article(2).with_row_copy(RowCopy::HalfRow).unwrap();
    let mut chunks: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 128];
    for m in instructions(&config, config.q_tile()).into_iter().flatten() {
        chunks[m.thread as usize].push((m.row, m.column));
    }
    assert_eq!(chunks.iter().map(Vec::len).sum::<usize>(), 512);
    for (tid, chunks) in (0..).zip(chunks) {
        let (r, s) = (tid / 4, tid % 4);
        let formula = |rm: u32| [0, 1].map(|rd| (r + 32 * rm, 8 * s + 32 * rd));
        assert_eq!(chunks, [formula(0), formula(1)].concat());
    }
}

#[test]
fn k2_whole_row_copies_have_no_bank_conflict() {
    for config in grid(RowCopy::WholeRow) {
        assert_eq!(worst_ways(&config, config.q_tile()), 1, "{config}");
        assert_eq!(worst_ways(&config, config.kv_tile()), 1, "{config}");
    }
}

#[test]
fn k1_half_row_copies_conflict_in_2_ways_on_128_byte_rows_only() {
    for head_dim in HEAD_DIMS {
        let whole = of(
            head_dim,
            Tile {
                block_m: 64,
                block_n: 64,
                warps: 4,
                stages: 1,
            },
        );
        let config = whole.with_row_copy(RowCopy::HalfRow).unwrap();
        let ways = if config.q_tile().atom_cols() == 64 {
            2
        } else {
            1
        };
        assert_eq!(worst_ways(&config, config.q_tile()), ways, "{config}");
    }
}

/// The worst bank conflict of a warp's writes.
fn worst_ways(config: &FwdConfig, tile: SmemTile) -> usize {
    let instructions = instructions(config, tile);
    let warps = instructions.iter().flat_map(|moves| moves.chunks(32));
    let ways = warps.map(|warp| {
        let addresses = std::array::from_fn(|lane| warp[lane].target as usize);
        conflict_ways(&addresses, AccessWidth::Bytes16).unwrap()
    });
    ways.max().unwrap()
}
