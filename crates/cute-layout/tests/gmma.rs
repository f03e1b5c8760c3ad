//! A tile read through its matrix descriptor, and written by the copy engine: every element is
//! where the tile says.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cute_layout::{GmmaDescriptor, GmmaOperand, Major, SmemTile, SwizzleMode};
use proptest::prelude::*;

/// Rows of operands: block sizes of the kernels, and some that are no power of two.
const ROWS: [usize; 8] = [8, 16, 64, 80, 112, 128, 176, 192];
/// Head sizes, which are the columns.
const COLS: [usize; 6] = [32, 64, 96, 128, 192, 256];
const MAJORS: [Major; 2] = [Major::K, Major::Mn];

fn tiles() -> impl Iterator<Item = SmemTile> {
    ROWS.into_iter()
        .flat_map(|rows| COLS.map(|cols| SmemTile::new(rows, cols)))
}

/// What the hardware computes from the 64 bits and an element of the instruction's operand, after
/// the PTX ISA: offsets by core matrices of 8 rows of 16 bytes, then an XOR of address bits.
fn hardware_address(word: u64, major: Major, mn: usize, k: usize) -> usize {
    let field = |low: u32| ((word >> low) & 0x3FFF) as usize * 16;
    let (start, leading, stride) = (field(0), field(16), field(32));
    assert_eq!(
        (word >> 46) & 0xFFFF & !(3 << 14),
        0,
        "base offset and reserved bits"
    );
    let (row_bytes, xor_bits) = match word >> 62 {
        1 => (128, 0b111),
        2 => (64, 0b011),
        mode => panic!("no swizzle mode of a tile is {mode}"),
    };
    // Where the operand is contiguous, in bytes, and the line it is on.
    let (along, line) = match major {
        Major::K => (2 * k, mn),
        Major::Mn => (2 * mn, k),
    };
    let linear = start
        + along / row_bytes * leading
        + along % row_bytes
        + line / 8 * stride
        + line % 8 * row_bytes;
    linear ^ (((linear >> 7) & xor_bits) << 4)
}

/// Every element of the instruction at `(mn, k)`, of `extent` rows of A or columns of B.
fn assert_instruction(operand: GmmaOperand, base: usize, [mn, k]: [usize; 2], extent: usize) {
    let descriptor = operand.descriptor(base).advance(operand.start(mn, k));
    let word = descriptor.encode();
    let (major, tile) = (operand.major(), operand.layout());
    for i in 0..extent {
        for j in 0..16 {
            let expected = base + 2 * tile.at((mn + i, k + j));
            let context = || format!("{operand:?} at ({mn},{k}) + ({i},{j})");
            assert_eq!(
                hardware_address(word, major, i, j),
                expected,
                "{}",
                context()
            );
            assert_eq!(descriptor.address(major, i, j), expected, "{}", context());
        }
    }
}

#[test]
fn every_step_of_every_tile_reads_its_elements() {
    for tile in tiles() {
        for major in MAJORS {
            let operand = GmmaOperand::new(tile, major);
            let [extent, depth] = operand.extents();
            for k in (0..depth / 16).map(|step| 16 * step) {
                assert_instruction(operand, 5 * 1024, [0, k], extent);
            }
        }
    }
}

#[test]
fn operand_a_starts_at_any_64_rows_of_a_k_major_tile() {
    let operand = GmmaOperand::new(SmemTile::new(192, 128), Major::K);
    for mn in [0, 64, 128] {
        for k in (0..128).step_by(16) {
            assert_instruction(operand, 0, [mn, k], 64);
        }
    }
}

#[test]
fn an_mn_major_instruction_takes_part_of_an_atom_or_whole_atoms() {
    // As dS, K and V in the backward: half an atom, one of two, two of four.
    for (cols, mn, extent) in [(64, 32, 32), (128, 64, 64), (256, 128, 128), (96, 32, 64)] {
        let operand = GmmaOperand::new(SmemTile::new(64, cols), Major::Mn);
        for k in (0..64).step_by(16) {
            assert_instruction(operand, 2048, [mn, k], extent);
        }
    }
}

#[test]
fn an_instruction_that_leaves_its_row_within_it_is_wrong() {
    // 64 columns from the middle of an atom: the second half is not where the descriptor says.
    let operand = GmmaOperand::new(SmemTile::new(64, 128), Major::Mn);
    let descriptor = operand.descriptor(0).advance(operand.start(32, 0));
    let (read, tile) = (descriptor.address(Major::Mn, 32, 0), operand.layout());
    assert_ne!(read, 2 * tile.at((64, 0)));
}

#[test]
fn the_closed_form_is_the_canonical_layout() {
    for tile in tiles() {
        for major in MAJORS {
            let operand = GmmaOperand::new(tile, major);
            let descriptor = operand.descriptor(0);
            let extent = operand.extents()[0];
            let layout = descriptor.layout(major, extent);
            for mn in 0..extent {
                for k in 0..16 {
                    assert_eq!(layout.at((mn, k)), descriptor.address(major, mn, k));
                }
            }
        }
    }
}

#[test]
fn the_canonical_layout_prints_as_in_cutlass() {
    let tile = SmemTile::new(128, 128);
    let print = |major| {
        let descriptor = GmmaOperand::new(tile, major).descriptor(0);
        descriptor.layout(major, 128).to_string()
    };
    assert_eq!(
        print(Major::K),
        "Sw<3,4,3> o _0 o ((_8,_16),(_8,_2)):((_128,_1024),(_2,_16))"
    );
    assert_eq!(
        print(Major::Mn),
        "Sw<3,4,3> o _0 o ((_64,_2),(_8,_2)):((_2,_16384),(_128,_1024))"
    );
}

#[test]
fn steps_of_16_add_a_constant_within_an_atom() {
    for tile in tiles() {
        let (k_major, mn_major) = (
            GmmaOperand::new(tile, Major::K),
            GmmaOperand::new(tile, Major::Mn),
        );
        for step in 0..tile.cols() / 16 {
            let per_atom = tile.atom_cols() / 16;
            let expected = step / per_atom * tile.atom_bytes() + step % per_atom * 32;
            assert_eq!(k_major.start(0, 16 * step), expected);
        }
        for step in 0..tile.rows() / 16 {
            let expected = 16 * step * tile.swizzle_mode().row_bytes();
            assert_eq!(mn_major.start(0, 16 * step), expected);
        }
    }
}

#[test]
fn the_copy_engine_writes_the_tile_box_by_box() {
    for tile in tiles() {
        let (rows, box_cols) = (tile.rows(), tile.atom_cols());
        for row in 0..rows {
            for col in 0..tile.cols() {
                // CUDA driver API: a box is stored row by row; with the swizzle, 16-byte chunks of
                // a row move by the number of its 128 bytes, counted from the box's alignment.
                let (chunk, within) = (col % box_cols / 8, col % 8);
                let moved = match tile.swizzle_mode() {
                    SwizzleMode::Bytes128 => chunk ^ (row % 8),
                    SwizzleMode::Bytes64 => chunk ^ (row / 2 % 4),
                };
                let box_start = col / box_cols * rows * box_cols;
                let written = box_start + row * box_cols + 8 * moved + within;
                assert_eq!(written, tile.offset(row, col), "{tile:?} ({row},{col})");
            }
        }
        assert_eq!(tile.atoms() * tile.atom_bytes(), 2 * tile.elements());
        assert_eq!(tile.atom_bytes() % tile.swizzle_mode().alignment(), 0);
    }
}

#[test]
fn the_swizzle_of_bytes_is_that_of_elements() {
    for tile in tiles() {
        let mode = tile.swizzle_mode();
        assert_eq!(mode.row_bytes(), 2 * tile.atom_cols());
        assert_eq!(mode.swizzle().bits(), tile.swizzle().bits());
        for offset in 0..tile.elements() {
            let bytes = mode.swizzle().apply(2 * offset);
            assert_eq!(bytes, 2 * tile.swizzle().apply(offset));
        }
    }
}

#[test]
fn descriptors_are_constants() {
    const K: GmmaOperand = GmmaOperand::new(SmemTile::new(128, 64), Major::K);
    const WORD: u64 = K.descriptor(0).encode();
    const STEP: usize = K.start(0, 16);
    assert_eq!(WORD, 0x4000_0040_0001_0000);
    assert_eq!(STEP, 32);
    assert_eq!([Major::K, Major::Mn].map(Major::transpose), [0, 1]);
}

#[test]
fn numbers_that_14_bits_of_16_bytes_cannot_hold_are_refused() {
    let good = GmmaOperand::new(SmemTile::new(64, 64), Major::K).descriptor(0);
    let refused = |descriptor: GmmaDescriptor| std::panic::catch_unwind(|| descriptor.encode());
    assert!(refused(good).is_ok());
    for (start_address, stride_byte_offset) in [(8, 1024), (1 << 18, 1024), (0, 24), (0, 1 << 18)] {
        let bad = GmmaDescriptor {
            start_address,
            stride_byte_offset,
            ..good
        };
        assert!(refused(bad).is_err());
    }
}

#[test]
fn a_start_within_8_rows_or_a_chunk_is_refused() {
    let tile = SmemTile::new(64, 64);
    for (major, mn, k) in [
        (Major::K, 4, 0),
        (Major::K, 0, 4),
        (Major::Mn, 4, 0),
        (Major::Mn, 0, 4),
    ] {
        let operand = GmmaOperand::new(tile, major);
        assert!(std::panic::catch_unwind(|| operand.start(mn, k)).is_err());
    }
}

proptest! {
    #[test]
    fn any_instruction_of_any_tile_reads_its_elements(
        rows in (1_usize..=32).prop_map(|n| 8 * n),
        cols in (1_usize..=8).prop_map(|n| 32 * n),
        base in (0_usize..64).prop_map(|n| 1024 * n),
        major in prop::sample::select(&MAJORS[..]),
        at in any::<[prop::sample::Index; 3]>(),
    ) {
        let tile = SmemTile::new(rows, cols);
        prop_assume!(base + 2 * tile.elements() <= 1 << 18);
        let operand = GmmaOperand::new(tile, major);
        let [extent, depth] = operand.extents();
        prop_assume!(depth >= 16);
        // Depth in steps of 8, which is more than kernels use.
        let k = 8 * at[0].index(depth / 8 - 1);
        let k = if major == Major::K { k / 16 * 16 } else { k };
        let (mn, length) = match major {
            Major::K => {
                let mn = 8 * at[1].index(extent / 8);
                (mn, 8 * (1 + at[2].index((extent - mn) / 8)))
            }
            // From an atom's edge any number of atoms; from within it, to its end at most.
            Major::Mn => {
                let atom = tile.atom_cols();
                let mn = 8 * at[1].index(extent / 8);
                let whole = (extent - mn) / atom;
                if mn % atom == 0 {
                    (mn, atom * (1 + at[2].index(whole)))
                } else {
                    (mn, 8 * (1 + at[2].index((atom - mn % atom) / 8)))
                }
            }
        };
        assert_instruction(operand, base, [mn, k], length);
    }

    #[test]
    fn the_start_is_a_field_of_its_own(
        address in (0_usize..1 << 14).prop_map(|n| 16 * n),
        major in prop::sample::select(&MAJORS[..]),
    ) {
        let descriptor = GmmaOperand::new(SmemTile::new(128, 256), major).descriptor(0);
        let word = descriptor.encode() + (address as u64 >> 4);
        prop_assert_eq!(descriptor.advance(address).encode(), word);
    }
}
