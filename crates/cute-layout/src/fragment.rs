//! Which lane and register of an instruction holds which element, as data: thread-value layouts.
//!
//! A thread-value layout maps `(lane, value)` to the column-major index of an element in the
//! instruction's tile. With `g = lane / 4` and `q = lane % 4`, the formulas of the PTX ISA become
//! strides; the names below are those of the formulas. The lanes of a wgmma are the 128 threads of
//! its warpgroup, warp `w` after warp.

use crate::shape_stride::Layout;

/// Threads of a warpgroup.
const WARPGROUP: usize = 128;

/// A matrix instruction: its tile `m x n x k` and who holds the elements of A `(m,k)`, B `(n,k)`
/// and C `(m,n)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MmaAtom {
    m: usize,
    n: usize,
    k: usize,
    a: Layout,
    b: Layout,
    c: Layout,
}

impl MmaAtom {
    /// `mma.sync.aligned.m16n8k16.row.col` with 16-bit A and B and 32-bit C.
    ///
    /// Source: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", section "Matrix
    /// Fragments for mma.m16n8k16 with floating point type".
    ///
    /// ```text
    /// A: value (a0,a1,a2)  m = g + 8 a1      k = 2q + a0 + 8 a2
    /// B: value (b0,b1)     n = g             k = 2q + b0 + 8 b1
    /// C: value (c0,c1)     m = g + 8 c1      n = 2q + c0
    /// ```
    #[must_use]
    pub fn m16n8k16() -> Self {
        let (m, n, k) = (16, 8, 16);
        let lanes = (4, 8); // (q, g)
        Self {
            m,
            n,
            k,
            a: Layout::new((lanes, (2, 2, 2)), ((2 * m, 1), (m, 8, 8 * m))),
            b: Layout::new((lanes, (2, 2)), ((2 * n, 1), (n, 8 * n))),
            c: Layout::new((lanes, (2, 2)), ((2 * m, 1), (m, 8))),
        }
    }

    /// `wgmma.mma_async.sync.aligned.m64nNk16` with 16-bit A in registers, B in shared memory and
    /// 32-bit C: CuTe's `SM90_64xNx16_F32F16F16_RS`.
    ///
    /// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", section "Register
    /// Fragments for wgmma.mma_async.m64nNk16".
    ///
    /// ```text
    /// A: value (a0,a1,a2)  m = 16w + g + 8 a1   k = 2q + a0 + 8 a2
    /// B: every thread has all of it
    /// C: value (c0,c1,nu)  m = 16w + g + 8 c1   n = 8 nu + 2q + c0
    /// ```
    ///
    /// # Panics
    ///
    /// If `n` is no multiple of 8 from 8 to 256.
    #[must_use]
    pub fn wgmma_rs(n: usize) -> Self {
        assert!(
            n.is_multiple_of(8) && (8..=256).contains(&n),
            "MmaAtom: N of a wgmma is a multiple of 8 from 8 to 256, not {n}"
        );
        let (m, k) = (64, 16);
        let threads = (4, 8, 4); // (q, g, w)
        let rows = (2 * m, 1, 16);
        Self {
            m,
            n,
            k,
            a: Layout::new((threads, (2, 2, 2)), (rows, (m, 8, 8 * m))),
            b: in_shared_memory(n, k),
            c: Layout::new((threads, (2, 2, n / 8)), (rows, (m, 8, 8 * m))),
        }
    }

    /// As [`wgmma_rs`](Self::wgmma_rs) with A in shared memory too: CuTe's
    /// `SM90_64xNx16_F32F16F16_SS`.
    ///
    /// # Panics
    ///
    /// If `n` is no multiple of 8 from 8 to 256.
    #[must_use]
    pub fn wgmma_ss(n: usize) -> Self {
        let atom = Self::wgmma_rs(n);
        Self {
            a: in_shared_memory(atom.m, atom.k),
            ..atom
        }
    }

    /// The tile `[m, n, k]`.
    #[must_use]
    pub fn tile(&self) -> [usize; 3] {
        [self.m, self.n, self.k]
    }

    /// `(lane, value)` to the index `m + M k` of an element of A.
    #[must_use]
    pub fn a(&self) -> &Layout {
        &self.a
    }

    /// `(lane, value)` to the index `n + N k` of an element of B.
    #[must_use]
    pub fn b(&self) -> &Layout {
        &self.b
    }

    /// `(lane, value)` to the index `m + M n` of an element of C.
    #[must_use]
    pub fn c(&self) -> &Layout {
        &self.c
    }
}

/// An operand that a warpgroup reads from shared memory: all threads have all elements, in order.
fn in_shared_memory(rows: usize, k: usize) -> Layout {
    Layout::new((WARPGROUP, (rows, k)), (0, (1, rows)))
}

/// A copy instruction: which thread names which element at the source, and which gets it at the
/// destination.
///
/// Both layouts map `(thread, value)` to the number of an element among those that the instruction
/// moves, counted along the source: element `i` is the `i % 8`-th of the `i / 8`-th vector of 16
/// bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CopyAtom {
    src: Layout,
    dst: Layout,
}

/// Elements of 16 bits in a vector of 16 bytes: one `cp.async`, or one row of an `ldmatrix` matrix.
const VECTOR: usize = 8;
/// Elements of one 8x8 matrix of `ldmatrix`.
const MATRIX: usize = 8 * VECTOR;

impl CopyAtom {
    /// `ldmatrix.sync.aligned.m8n8.x4.shared.b16`: four 8x8 matrices of 16-bit elements.
    ///
    /// Source: PTX ISA, "Warp-level matrix load instruction: ldmatrix". Lane `8 i + r` supplies the
    /// address of row `r` of matrix `i`. Register `i` of lane `4 g + q` receives row `g`, columns
    /// `2q` and `2q + 1`, of matrix `i`.
    #[must_use]
    pub fn ldmatrix_x4() -> Self {
        // ((q, g), (e, i)): element e of register i.
        let dst = Layout::new(((4, 8), (2, 4)), ((2, VECTOR), (1, MATRIX)));
        Self {
            src: Layout::new((32, VECTOR), (VECTOR, 1)),
            dst,
        }
    }

    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16`: as [`ldmatrix_x4`](Self::ldmatrix_x4),
    /// each matrix transposed on its way.
    ///
    /// Source: the same section. Register `i` of lane `4 g + q` receives column `g`, rows `2q` and
    /// `2q + 1`, of matrix `i`.
    #[must_use]
    pub fn ldmatrix_x4_trans() -> Self {
        let dst = Layout::new(((4, 8), (2, 4)), ((2 * VECTOR, 1), (VECTOR, MATRIX)));
        Self {
            src: Layout::new((32, VECTOR), (VECTOR, 1)),
            dst,
        }
    }

    /// `cp.async.cg.shared.global` of 16 bytes: each thread moves one vector of 8 16-bit elements.
    ///
    /// Source: PTX ISA, "Data Movement and Conversion Instructions: cp.async".
    #[must_use]
    pub fn cp_async_16() -> Self {
        Self::vector(VECTOR)
    }

    /// A plain load or store of 16 bytes, such as the store of the epilogue: one thread, 8 16-bit
    /// elements.
    #[must_use]
    pub fn vector_16() -> Self {
        Self::vector(VECTOR)
    }

    /// A plain load or store of 4 bytes, such as that of a pair in a C fragment: one thread, 2
    /// 16-bit elements.
    #[must_use]
    pub fn vector_4() -> Self {
        Self::vector(2)
    }

    fn vector(len: usize) -> Self {
        let vector = Layout::new((1, len), (0, 1));
        Self {
            src: vector.clone(),
            dst: vector,
        }
    }

    /// `(thread, value)` to element, for the side that is read: whose address reaches it.
    #[must_use]
    pub fn src(&self) -> &Layout {
        &self.src
    }

    /// `(thread, value)` to element, for the side that is written: whose register or address gets
    /// it.
    #[must_use]
    pub fn dst(&self) -> &Layout {
        &self.dst
    }

    /// The number of threads that execute the instruction together.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.dst.mode(0).size()
    }

    /// The number of elements that each of them gets.
    #[must_use]
    pub fn values(&self) -> usize {
        self.dst.mode(1).size()
    }
}
