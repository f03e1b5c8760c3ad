//! `ldmatrix`, `stmatrix` and `mma.sync`.

use super::access::Access;
use super::{MOST_BYTES, Running};
use crate::alu::Lanes;
use crate::block::Block;
use crate::fragment::{Place, matrix_half, row_lane};
use crate::mma;
use crate::module::{Op, Space};
use crate::warp::Warp;

/// Rows of a matrix, and columns.
const ROWS: usize = 8;
/// Bytes of a row.
const ROW_BYTES: usize = MOST_BYTES;
/// What a register gets whose row can't be read.
const POISON: [u8; ROW_BYTES] = [0xff; ROW_BYTES];

impl Block<'_> {
    /// Loads matrices whose rows' addresses the first lanes name: 8 lanes a matrix.
    pub(super) fn load_matrices(&mut self, warp: &mut Warp, op: &Op, running: Running) {
        let Op::MatrixLoad {
            transposed,
            destinations,
            address,
        } = op
        else {
            return;
        };
        self.require(warp, None, running);
        let addresses = self.addresses(warp, *address, running);
        for (matrix, destination) in destinations.iter().enumerate() {
            self.measure_rows(&addresses, matrix, running);
            let mut halves = [[0; ROWS]; ROWS];
            for (row, halves) in halves.iter_mut().enumerate() {
                let access = row_access(&addresses, matrix, row, running);
                let mut bytes = [0; ROW_BYTES];
                if !self.read(warp, access, &mut bytes) {
                    bytes = POISON;
                }
                *halves = std::array::from_fn(|column| {
                    u16::from_le_bytes([bytes[2 * column], bytes[2 * column + 1]])
                });
            }
            let value = std::array::from_fn(|lane| {
                let half = |half| {
                    let Place { row, column } = matrix_half(lane, half, *transposed);
                    u64::from(halves[row][column])
                };
                half(0) | half(1) << 16
            });
            warp.set(self.setup.kernel, *destination, running.active, &value);
        }
    }

    /// Stores matrices to the rows that the first lanes name.
    pub(super) fn store_matrices(&mut self, warp: &Warp, op: &Op, running: Running) {
        let Op::MatrixStore {
            transposed,
            sources,
            address,
        } = op
        else {
            return;
        };
        self.require(warp, None, running);
        let addresses = self.addresses(warp, *address, running);
        for (matrix, source) in sources.iter().enumerate() {
            let value = self.value(warp, *source, running.active, running.at);
            let mut rows = [[0; ROW_BYTES]; ROWS];
            for (lane, bits) in value.iter().enumerate() {
                for half in 0..2 {
                    let Place { row, column } = matrix_half(lane, half, *transposed);
                    let bytes = ((bits >> (16 * half)) as u16).to_le_bytes();
                    rows[row][2 * column..][..2].copy_from_slice(&bytes);
                }
            }
            self.measure_rows(&addresses, matrix, running);
            for (row, bytes) in rows.iter().enumerate() {
                let access = row_access(&addresses, matrix, row, running);
                self.write(warp, access, bytes);
            }
        }
    }

    fn measure_rows(&mut self, addresses: &Lanes, matrix: usize, running: Running) {
        let rows = &addresses[row_lane(matrix, 0)..][..ROWS];
        self.measure_access(Space::Shared, rows, running.at, ROW_BYTES);
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
        for operand in a.iter().chain(b).chain(c) {
            self.check_defined(warp, *operand, running.active, running.at);
        }
        let operands = self.operands();
        let [a0, a1, a2, a3, b0, b1, c0, c1, c2, c3] = &mut *self.constants;
        let a = operands.fragment(warp, a, [a0, a1, a2, a3]);
        let b = operands.fragment(warp, b, [b0, b1]);
        let c = operands.fragment(warp, c, [c0, c1, c2, c3]);
        let result = mma::multiply_borrowed(*element, a, b, c);
        for (register, value) in d.iter().zip(&result) {
            warp.set(self.setup.kernel, *register, running.active, value);
        }
    }
}

/// The access of one row, by the lane that names it.
fn row_access(addresses: &Lanes, matrix: usize, row: usize, running: Running) -> Access {
    let lane = row_lane(matrix, row);
    Access {
        at: running.at,
        lane,
        space: Space::Shared,
        address: addresses[lane],
    }
}
