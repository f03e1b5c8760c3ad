//! A tile in shared memory as an operand: its descriptor, and the step from one product to the next.
//!
//! The tile is one of [`SmemTile`]: column atoms of 128-byte or 64-byte rows, their 16-byte chunks
//! permuted by the row. Q and K are read along their rows: the summed index is contiguous. V is read
//! across them: its rows are the summed index, and its columns, N of the product, are contiguous.

use crate::mma::warpgroup::atom::{DESCRIPTOR_UNIT, Major, SharedMatrix, SharedSwizzle, WGMMA_K};
use crate::problem::Dtype;
use cubecl::prelude::*;
use cute_layout::SmemTile;

/// Rows of a group that the swizzle permutes.
const GROUP_ROWS: u32 = 8;

/// A tile and the way it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OperandForm {
    /// The tile.
    pub tile: SmemTile,
    /// Its contiguous index.
    pub major: Major,
}

impl OperandForm {
    /// Bytes of an atom's row.
    pub(crate) const fn row_bytes(&self) -> u32 {
        self.tile.atom_cols() as u32 * Dtype::BYTES
    }

    /// Bytes of a column atom.
    const fn atom_bytes(&self) -> u32 {
        self.tile.rows() as u32 * self.row_bytes()
    }

    /// The matrix that one product reads.
    pub(crate) const fn matrix(&self) -> SharedMatrix {
        SharedMatrix {
            swizzle: swizzle(&self.tile),
            major: self.major,
            leading_bytes: match self.major {
                // The atom's rows hold the depth of a product: there is no next atom.
                Major::K => DESCRIPTOR_UNIT,
                Major::Mn => self.atom_bytes(),
            },
            stride_bytes: GROUP_ROWS * self.row_bytes(),
        }
    }

    /// Products over the whole summed index.
    pub(crate) const fn steps(&self) -> u32 {
        match self.major {
            Major::K => self.tile.cols() as u32 / WGMMA_K,
            Major::Mn => self.tile.rows() as u32 / WGMMA_K,
        }
    }

    /// Bytes from the first product's operand to that of product `step`.
    pub(crate) const fn step_offset(&self, step: u32) -> u32 {
        match self.major {
            Major::K => {
                let steps_per_atom = self.tile.atom_cols() as u32 / WGMMA_K;
                step / steps_per_atom * self.atom_bytes()
                    + step % steps_per_atom * WGMMA_K * Dtype::BYTES
            }
            Major::Mn => step * WGMMA_K * self.row_bytes(),
        }
    }
}

/// Bytes from the operand of a transposed tile to that of its columns from `column` on, which don't cross
/// an atom unless they begin with one.
#[cube]
pub(crate) fn column_bytes(column: u32, #[comptime] form: OperandForm) -> u32 {
    let atom_cols = comptime!(form.tile.atom_cols() as u32);
    column / atom_cols * comptime!(form.atom_bytes()) + column % atom_cols * comptime!(Dtype::BYTES)
}

/// The permutation of a tile's chunks, as descriptors and tensor maps name it.
pub(crate) const fn swizzle(tile: &SmemTile) -> SharedSwizzle {
    if tile.atom_cols() as u32 * Dtype::BYTES == 128 {
        SharedSwizzle::Bytes128
    } else {
        SharedSwizzle::Bytes64
    }
}

/// An operand: where it lies, and its form.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Operand {
    /// Shared address in units of [`DESCRIPTOR_UNIT`].
    pub units: u32,
    /// Bytes from there to the operand.
    #[cube(comptime)]
    pub offset: u32,
    /// The tile.
    #[cube(comptime)]
    pub form: OperandForm,
}

#[cube]
impl Operand {
    /// The tile at shared address `address`.
    pub fn new(address: u32, #[comptime] form: OperandForm) -> Operand {
        Operand {
            units: address / DESCRIPTOR_UNIT,
            offset: 0u32,
            form,
        }
    }

    /// The tile `bytes` after this one, a multiple of 16.
    pub fn after(&self, bytes: u32) -> Operand {
        Operand {
            units: self.units + bytes / DESCRIPTOR_UNIT,
            offset: comptime!(self.offset),
            form: comptime!(self.form),
        }
    }

    /// [`after`](Self::after) at comptime: it costs no register.
    pub fn beside(&self, #[comptime] bytes: u32) -> Operand {
        Operand {
            units: self.units,
            offset: comptime!(self.offset + bytes),
            form: comptime!(self.form),
        }
    }

    /// The same tile with `major` for its contiguous index.
    pub fn as_major(&self, #[comptime] major: Major) -> Operand {
        let tile = comptime!(self.form.tile);
        Operand {
            units: self.units,
            offset: comptime!(self.offset),
            form: comptime!(OperandForm { tile, major }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element of the operand of each product, found from the descriptor as the ISA's canonical
    /// layouts say, is where the tile has it.
    #[test]
    fn products_read_the_elements_of_the_tile() {
        for (rows, cols) in [
            (64, 64),
            (128, 128),
            (80, 256),
            (128, 96),
            (176, 128),
            (16, 32),
        ] {
            let tile = SmemTile::new(rows, cols);
            for major in [Major::K, Major::Mn] {
                let form = OperandForm { tile, major };
                for step in 0..form.steps() {
                    check(&form, step);
                }
            }
        }
    }

    /// Columns from which a warpgroup's share of a transposed tile begins: those of its atoms, or of halves
    /// of one.
    #[test]
    fn columns_of_a_transposed_tile_are_where_the_tile_has_them() {
        for (rows, cols, share) in [(128, 128, 64), (128, 64, 32), (64, 32, 16), (128, 192, 64)] {
            let tile = SmemTile::new(rows, cols);
            let form = OperandForm {
                tile,
                major: Major::Mn,
            };
            for column in (0..cols as u32).step_by(share) {
                let start = column_bytes(column, form) as usize;
                for row in 0..rows {
                    for beside in 0..share {
                        let address = start + row * form.row_bytes() as usize + 2 * beside;
                        assert_eq!(
                            swizzled(&form, address),
                            tile.offset(row, column as usize + beside) * Dtype::BYTES as usize,
                            "{form:?} row {row} column {column} + {beside}"
                        );
                    }
                }
            }
        }
    }

    /// The swizzle permutes addresses, not operands: bits 7.. select, bits 4.. change.
    fn swizzled(form: &OperandForm, address: usize) -> usize {
        let bits = match form.matrix().swizzle {
            SharedSwizzle::Bytes64 => 0b11,
            SharedSwizzle::Bytes128 => 0b111,
        };
        address ^ ((address >> 7 & bits) << 4)
    }

    fn check(form: &OperandForm, step: u32) {
        let OperandForm { tile, major } = *form;
        let matrix = form.matrix();
        let depth = WGMMA_K as usize;
        let width = match major {
            Major::K => tile.rows(),
            Major::Mn => tile.cols(),
        };
        for k in 0..depth {
            for x in 0..width {
                let (row, col) = match major {
                    Major::K => (x, step as usize * depth + k),
                    Major::Mn => (step as usize * depth + k, x),
                };
                // Along the contiguous index inside an atom's row; rows of 8 are a group.
                let (contiguous, other) = match major {
                    Major::K => (k, x),
                    Major::Mn => (x, k),
                };
                let element = tile.atom_cols();
                let address = form.step_offset(step) as usize
                    + contiguous / element * matrix.leading_bytes as usize
                    + contiguous % element * Dtype::BYTES as usize
                    + other / 8 * matrix.stride_bytes as usize
                    + other % 8 * form.row_bytes() as usize;
                assert_eq!(
                    swizzled(form, address),
                    tile.offset(row, col) * Dtype::BYTES as usize,
                    "{form:?} step {step} element ({row}, {col})"
                );
            }
        }
    }
}
