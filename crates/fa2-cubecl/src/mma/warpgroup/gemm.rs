//! The products of a warpgroup: S = Q K^T from shared memory, O += P V with P from registers.
//!
//! Both are started here and waited for by the caller, who may work beside them.

use crate::mma::accumulator::Accumulator;
use crate::mma::atom::{Registers4, half_type};
use crate::mma::gemm::{a_fragment, p_view};
use crate::mma::warpgroup::atom::{
    Product, Start, commit_products, multiply_registers, multiply_shared,
};
use crate::mma::warpgroup::operand::{Operand, OperandForm};
use crate::problem::Dtype;
use cubecl::prelude::*;
use cute_layout::Layout;

/// Starts `acc = A B` as a group of its own.
#[cube]
pub(crate) fn gemm_ss(acc: &mut Accumulator, a: &Operand, b: &Operand, #[comptime] dtype: Dtype) {
    multiply_ss(acc, a, b, Start::Zero, dtype);
}

/// Starts `acc += A B` as a group of its own.
#[cube]
pub(crate) fn gemm_ss_add(
    acc: &mut Accumulator,
    a: &Operand,
    b: &Operand,
    #[comptime] dtype: Dtype,
) {
    multiply_ss(acc, a, b, Start::Accumulate, dtype);
}

#[cube]
fn multiply_ss(
    acc: &mut Accumulator,
    a: &Operand,
    b: &Operand,
    #[comptime] start: Start,
    #[comptime] dtype: Dtype,
) {
    let n = comptime!(acc.layout.n_tiles as u32 * 8);
    #[unroll]
    for step in 0..comptime!(a.form.steps()) {
        let product = comptime!(Product {
            n,
            ty: half_type(dtype),
            start: if step == 0 { start } else { Start::Accumulate },
        });
        multiply_shared(
            &mut acc.values,
            a.word,
            b.word,
            product,
            comptime!(a.form.matrix()),
            comptime!(b.form.matrix()),
            comptime!(a.offset + a.form.step_offset(step)),
            comptime!(b.offset + b.form.step_offset(step)),
        );
    }
    commit_products();
}

/// Some of the steps of a product: 16 of the summed index each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Steps {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Steps {
    /// All of a product with the operand `form`.
    const fn all(form: &OperandForm) -> Self {
        Self {
            first: 0,
            count: form.steps(),
        }
    }
}

/// Starts `acc_o += P V` as a group of its own. `p` must stay as it is until the group has ended.
#[cube]
pub(crate) fn gemm_rs(
    acc_o: &mut Accumulator,
    p: &Fragments,
    v: &Operand,
    #[comptime] dtype: Dtype,
) {
    let all = comptime!(Steps::all(&v.form));
    gemm_rs_steps(acc_o, p, v, all, dtype);
}

/// Starts `acc_o = P V` as a group of its own. `p` must stay as it is until the group has ended.
#[cube]
pub(crate) fn gemm_rs_from_zero(
    acc_o: &mut Accumulator,
    p: &Fragments,
    v: &Operand,
    #[comptime] dtype: Dtype,
) {
    let all = comptime!(Steps::all(&v.form));
    multiply_rs(acc_o, p, v, all, Start::Zero, dtype);
}

/// [`gemm_rs`] over `steps`, whose fragments must stay as they are until the group has ended.
#[cube]
pub(crate) fn gemm_rs_steps(
    acc_o: &mut Accumulator,
    p: &Fragments,
    v: &Operand,
    #[comptime] steps: Steps,
    #[comptime] dtype: Dtype,
) {
    multiply_rs(acc_o, p, v, steps, Start::Accumulate, dtype);
}

#[cube]
fn multiply_rs(
    acc_o: &mut Accumulator,
    p: &Fragments,
    v: &Operand,
    #[comptime] steps: Steps,
    #[comptime] start: Start,
    #[comptime] dtype: Dtype,
) {
    #[unroll]
    for index in 0..comptime!(steps.count) {
        let product = comptime!(Product {
            n: acc_o.layout.n_tiles as u32 * 8,
            ty: half_type(dtype),
            start: if index == 0 { start } else { Start::Accumulate },
        });
        let step = comptime!(steps.first + index);
        multiply_registers(
            &mut acc_o.values,
            &p.of_step(comptime!(step as usize)),
            v.word,
            product,
            comptime!(v.form.matrix()),
            comptime!(v.offset + v.form.step_offset(step)),
        );
    }
    commit_products();
}

/// P as the A fragments of all steps.
#[derive(CubeType)]
pub(crate) struct Fragments {
    /// Four registers a step.
    registers: Array<u32>,
}

#[cube]
impl Fragments {
    /// Room for `steps` fragments, set before they are read.
    pub fn undefined(#[comptime] steps: usize) -> Fragments {
        let registers = Array::<u32>::new(comptime!(4 * steps));
        Fragments { registers }
    }

    /// The fragment of `step`.
    pub fn of_step(&self, #[comptime] step: usize) -> Registers4 {
        let first = comptime!(4 * step);
        Registers4 {
            x: self.registers[first],
            y: self.registers[comptime!(first + 1)],
            z: self.registers[comptime!(first + 2)],
            w: self.registers[comptime!(first + 3)],
        }
    }

    /// Rounds `acc_p`. P's A fragment is its C fragment under another layout, `c_to_a`, as with the
    /// products of one warp: each warp's 16 rows of a warpgroup's tile are its own.
    pub fn round(&mut self, acc_p: &Accumulator, #[comptime] dtype: Dtype) {
        let all = comptime!(Steps {
            first: 0,
            count: acc_p.layout.n_tiles as u32 / 2,
        });
        self.round_steps(acc_p, all, dtype);
    }

    /// Rounds the fragments of `steps`.
    pub fn round_steps(
        &mut self,
        acc_p: &Accumulator,
        #[comptime] steps: Steps,
        #[comptime] dtype: Dtype,
    ) {
        let view: comptime_type!(Layout) = comptime!(p_view(&acc_p.layout));
        #[unroll]
        for index in 0..comptime!(steps.count) {
            let step = comptime!((steps.first + index) as usize);
            let first = comptime!(4 * step);
            let fragment = a_fragment(acc_p, comptime!(view.clone()), 0usize, step, dtype);
            self.registers[first] = fragment.x;
            self.registers[comptime!(first + 1)] = fragment.y;
            self.registers[comptime!(first + 2)] = fragment.z;
            self.registers[comptime!(first + 3)] = fragment.w;
        }
    }
}
