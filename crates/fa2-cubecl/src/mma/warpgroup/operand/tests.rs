//! What a product reads is what the tile holds.

use super::*;

/// Tiles of Q, K and V, in rows of 128 and of 64 bytes, and of any number of atoms.
fn forms() -> impl Iterator<Item = OperandForm> {
    [
        (64, 64),
        (128, 128),
        (80, 256),
        (64, 192),
        (64, 256),
        (128, 96),
        (176, 128),
        (16, 32),
    ]
    .into_iter()
    .flat_map(|(rows, cols)| {
        let tile = SmemTile::new(rows, cols);
        [Major::K, Major::Mn].map(|major| OperandForm { tile, major })
    })
}

/// Every element of the operand of each product, found by wgmma's rules from what the instruction is told,
/// is where the tile has it.
#[test]
fn products_read_the_elements_of_the_tile() {
    for form in forms() {
        let operand = form.operand();
        let [width, depth] = operand.extents();
        assert_eq!(form.steps() as usize * WGMMA_K as usize, depth);
        for step in 0..form.steps() {
            let first = step as usize * WGMMA_K as usize;
            let start = form.step_offset(step) as usize;
            let descriptor = operand.descriptor(start);
            for k in 0..WGMMA_K as usize {
                for mn in 0..width {
                    let in_tile = 2 * operand.layout().at((mn, first + k));
                    assert_eq!(
                        descriptor.address(form.major, mn, k),
                        in_tile,
                        "{form:?} step {step} element ({mn}, {k})"
                    );
                }
            }
        }
    }
}

/// A share of a transposed tile's columns begins with an atom, or with a part of one that tiles it.
#[test]
fn columns_of_a_transposed_tile_begin_where_the_layout_has_them() {
    for (rows, cols, share) in [
        (128, 128, 64),
        (128, 64, 32),
        (64, 32, 16),
        (128, 192, 64),
        (64, 256, 64),
    ] {
        let form = OperandForm {
            tile: SmemTile::new(rows, cols),
            major: Major::Mn,
        };
        let operand = form.operand();
        for first in (0..cols).step_by(share) {
            let start = column_bytes(first as u32, form) as usize;
            assert_eq!(column_offset(first as u32, form) as usize, start);
            let descriptor = operand.descriptor(start);
            for k in 0..WGMMA_K as usize {
                for mn in 0..share {
                    assert_eq!(
                        descriptor.address(form.major, mn, k),
                        2 * operand.layout().at((first + mn, k)),
                        "{form:?} column {first} + {mn}, row {k}"
                    );
                }
            }
        }
    }
}

/// The two words that a product is given are the descriptor; of a lone atom they name a neighbour too.
#[test]
fn words_are_the_descriptor_of_the_layout() {
    for form in forms() {
        let matrix = form.matrix();
        let word = u64::from(matrix.high_word()) << 32 | u64::from(matrix.low_bits());
        let mut descriptor = form.operand().descriptor(0);
        if form.major == Major::Mn && form.tile.atoms() == 1 {
            descriptor.leading_byte_offset = form.tile.atom_bytes();
        }
        assert_eq!(word, descriptor.encode(), "{form:?}");
    }
}
