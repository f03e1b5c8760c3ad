//! `ldmatrix`, `stmatrix` and `mma.sync`.

use super::Running;
use super::memory::MOST_BYTES;
use crate::alu::{LANES, Lanes};
use crate::block::Block;
use crate::fragment::{Place, matrix_half};
use crate::mma;
use crate::module::{Op, Operand, Space};
use crate::warp::Warp;

/// Rows of a matrix.
const ROWS: usize = 8;
/// Bytes of a row.
const ROW_BYTES: usize = MOST_BYTES;

impl Block<'_> {
    /// Loads or stores matrices whose rows' addresses the first lanes name: 8 lanes a matrix.
    pub(super) fn matrix(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        self.require(warp, None, running);
        match op {
            Op::MatrixLoad {
                transposed,
                destinations,
                address,
            } => {
                let addresses = self.addresses(warp, *address, running);
                for (matrix, destination) in destinations.iter().enumerate() {
                    let lanes = matrix * ROWS..(matrix + 1) * ROWS;
                    self.measure_access(
                        Space::Shared,
                        &addresses[lanes.clone()],
                        running.at,
                        ROW_BYTES,
                    );
                    let mut rows = [[0xff; ROW_BYTES]; ROWS];
                    for (row, lane) in rows.iter_mut().zip(lanes) {
                        let address = addresses[lane];
                        let at = running.at;
                        if let Some(read) =
                            self.read(warp, Space::Shared, address, ROW_BYTES, lane, at)
                        {
                            *row = read;
                        }
                    }
                    let value: Lanes = std::array::from_fn(|lane| {
                        let half = |half| {
                            let Place { row, column } = matrix_half(lane, half, *transposed);
                            let bytes = [rows[row][2 * column], rows[row][2 * column + 1]];
                            u64::from(u16::from_le_bytes(bytes))
                        };
                        half(0) | half(1) << 16
                    });
                    warp.set(self.setup.kernel, *destination, running.active, &value);
                }
            }
            Op::MatrixStore {
                transposed,
                sources,
                address,
            } => {
                let addresses = self.addresses(warp, *address, running);
                for (matrix, source) in sources.iter().enumerate() {
                    let value = self.value(warp, *source, running.active, running.at);
                    let mut rows = [[0; ROW_BYTES]; ROWS];
                    for (lane, bits) in value.iter().enumerate() {
                        for half in 0..2 {
                            let Place { row, column } = matrix_half(lane, half, *transposed);
                            let bytes = ((bits >> (16 * half)) as u16).to_le_bytes();
                            rows[row][2 * column..2 * column + 2].copy_from_slice(&bytes);
                        }
                    }
                    let lanes = matrix * ROWS..(matrix + 1) * ROWS;
                    self.measure_access(
                        Space::Shared,
                        &addresses[lanes.clone()],
                        running.at,
                        ROW_BYTES,
                    );
                    for (row, lane) in rows.iter().zip(lanes) {
                        self.write(warp, Space::Shared, addresses[lane], row, lane, running.at);
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn mma(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Op::Mma {
            element,
            d,
            a,
            b,
            c,
        } = op
        else {
            return;
        };
        self.require(warp, None, running);
        let a = self.fragment(warp, a, running);
        let b = self.fragment(warp, b, running);
        let c = self.fragment(warp, c, running);
        let result = mma::multiply(*element, &a, &b, &c);
        for (register, value) in d.iter().zip(&result) {
            warp.set(self.setup.kernel, *register, running.active, value);
        }
    }

    fn fragment<const N: usize>(
        &mut self,
        warp: &Warp,
        operands: &[Operand; N],
        running: Running,
    ) -> [Lanes; N] {
        let mut fragment = [[0; LANES]; N];
        for (value, operand) in fragment.iter_mut().zip(operands) {
            *value = self.value(warp, *operand, running.active, running.at);
        }
        fragment
    }
}
