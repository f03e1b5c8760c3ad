//! A tile in shared memory as an operand: its descriptor, and the step from one product to the next.
//!
//! Both are those of [`GmmaOperand`]. Q and K are read along their rows: the summed index is contiguous. V is
//! read across them: its rows are the summed index, and its columns, N of the product, are contiguous.

use crate::mma::warpgroup::atom::{DESCRIPTOR_UNIT, Major, SharedMatrix, WGMMA_K, shared_matrix};
use crate::problem::Dtype;
use cubecl::prelude::*;
use cute_layout::{GmmaOperand, SmemTile};

/// A tile and the way it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OperandForm {
    /// The tile.
    pub tile: SmemTile,
    /// Its contiguous index.
    pub major: Major,
}

impl OperandForm {
    /// `tile`, read along `major`.
    pub(crate) const fn new(tile: SmemTile, major: Major) -> Self {
        Self { tile, major }
    }

    /// The layout, descriptor and starts.
    const fn operand(&self) -> GmmaOperand {
        GmmaOperand::new(self.tile, self.major)
    }

    /// Bytes of an atom's row.
    pub(crate) const fn row_bytes(&self) -> u32 {
        self.tile.swizzle_mode().row_bytes() as u32
    }

    /// The matrix that one product reads.
    pub(crate) const fn matrix(&self) -> SharedMatrix {
        shared_matrix(self.operand())
    }

    /// Products over the whole summed index.
    pub(crate) const fn steps(&self) -> u32 {
        let [_, depth] = self.operand().extents();
        depth as u32 / WGMMA_K
    }

    /// Bytes from the first product's operand to that of product `step`.
    pub(crate) const fn step_offset(&self, step: u32) -> u32 {
        self.operand().start(0, (step * WGMMA_K) as usize) as u32
    }
}

/// [`column_bytes`] at comptime.
pub(crate) const fn column_offset(column: u32, form: OperandForm) -> u32 {
    form.operand().start(column as usize, 0) as u32
}

/// Bytes from the operand of a transposed tile to that of its columns from `column` on, which don't cross
/// an atom unless they begin with one.
#[cube]
pub(crate) fn column_bytes(column: u32, #[comptime] form: OperandForm) -> u32 {
    let atom_cols = comptime!(form.tile.atom_cols() as u32);
    column / atom_cols * comptime!(form.tile.atom_bytes() as u32)
        + column % atom_cols * comptime!(Dtype::BYTES)
}

/// An operand: the lower word of its descriptor, and its form.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Operand {
    /// Lower word.
    pub word: u32,
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
        let bits = comptime!(form.matrix().low_bits());
        Operand {
            word: address / DESCRIPTOR_UNIT + bits,
            offset: 0u32,
            form,
        }
    }

    /// The tile `bytes` after this one, a multiple of 16.
    pub fn after(&self, bytes: u32) -> Operand {
        Operand {
            word: self.word + bytes / DESCRIPTOR_UNIT,
            offset: comptime!(self.offset),
            form: comptime!(self.form),
        }
    }

    /// [`after`](Self::after) at comptime: it costs no register.
    pub fn beside(&self, #[comptime] bytes: u32) -> Operand {
        Operand {
            word: self.word,
            offset: comptime!(self.offset + bytes),
            form: comptime!(self.form),
        }
    }

    /// The same tile, which is contiguous along the summed index, read across its rows.
    pub fn transposed(&self) -> Operand {
        let form = comptime!(OperandForm {
            major: Major::Mn,
            ..self.form
        });
        let more = comptime!(form.matrix().low_bits() - self.form.matrix().low_bits());
        Operand {
            word: self.word + more,
            offset: comptime!(self.offset),
            form,
        }
    }
}

#[cfg(test)]
mod tests;
