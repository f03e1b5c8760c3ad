//! `ldmatrix`, `stmatrix` and `mma.sync`: warp-wide loads and stores of 8x8 matrices and products of
//! 16x8x16 (SM80; `stmatrix` SM90).
//!
//! PTX ISA, "Warp Level Matrix Instructions". Fragments are 32-bit registers, each with two 16-bit
//! elements; which elements a lane holds is in the ISA's fragment tables.

use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::prelude::*;

/// Element type of the 16-bit operands of [`mma_m16n8k16()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HalfType {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl HalfType {
    /// The type as PTX spells it.
    #[must_use]
    pub const fn ptx(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

/// Whether `ldmatrix` hands out rows or columns of its 8x8 matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transpose {
    /// Lane `l` receives elements `2 (l % 4)` and the next of row `l / 4`.
    No,
    /// Lane `l` receives rows `2 (l % 4)` and the next of column `l / 4`.
    Yes,
}

/// Four 32-bit registers.
#[derive(CubeType, Clone, Copy)]
pub struct Registers4 {
    /// Register 0.
    pub x: u32,
    /// Register 1.
    pub y: u32,
    /// Register 2.
    pub z: u32,
    /// Register 3.
    pub w: u32,
}

/// Two 32-bit registers.
#[derive(CubeType, Clone, Copy)]
pub struct Registers2 {
    /// Register 0.
    pub x: u32,
    /// Register 1.
    pub y: u32,
}

/// The four f32 accumulators of a lane: (g, 2q), (g, 2q+1), (g+8, 2q), (g+8, 2q+1).
#[derive(CubeType, Clone, Copy)]
pub struct Accumulator4 {
    /// Row g, column 2q.
    pub x: f32,
    /// Row g, column 2q+1.
    pub y: f32,
    /// Row g+8, column 2q.
    pub z: f32,
    /// Row g+8, column 2q+1.
    pub w: f32,
}

/// Loads four 8x8 matrices of 16-bit elements: lane `l` gives the shared address of row `l % 8` of
/// matrix `l / 8` (16 bytes, 16-byte aligned), and receives one register of each matrix.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn ldmatrix_x4(
    address: u32,
    #[comptime] offset: u32,
    #[comptime] transpose: Transpose,
) -> Registers4 {
    intrinsic!(|scope| {
        let suffix = if transpose == Transpose::Yes {
            ".trans"
        } else {
            ""
        };
        let text = format!(
            "ldmatrix.sync.aligned.m8n8.x4{suffix}.shared.b16 {{$0,$1,$2,$3}}, [$4+{offset}];"
        );
        let asm = Asm {
            text: &text,
            constraints: "=r,=r,=r,=r,r,~{memory}",
            effect: Effect::Memory,
        };
        let ty = u32::__expand_as_type(scope);
        let operands = vec![address.read_value(scope)];
        let r = emit(scope, asm, vec![ty; 4], operands);
        Registers4Expand {
            x: r[0].into(),
            y: r[1].into(),
            z: r[2].into(),
            w: r[3].into(),
        }
    })
}

/// Stores four 8x8 matrices of 16-bit elements: lane `l` gives the shared address of row `l % 8` of
/// matrix `l / 8`, and one register of each matrix: elements `2 (l % 4)` and the next of row `l / 4`.
/// Needs SM90.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn stmatrix_x4(address: u32, #[comptime] offset: u32, value: &Registers4) {
    intrinsic!(|scope| {
        let text =
            format!("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+{offset}], {{$1,$2,$3,$4}};");
        let asm = Asm {
            text: &text,
            constraints: "r,r,r,r,r,~{memory}",
            effect: Effect::Memory,
        };
        let operands = vec![
            address.read_value(scope),
            value.x.read_value(scope),
            value.y.read_value(scope),
            value.z.read_value(scope),
            value.w.read_value(scope),
        ];
        emit(scope, asm, vec![], operands);
    })
}

/// `A B + C` of a 16x16 tile A (row major), a 16x8 tile B (column major) and a 16x8 tile C, in f32.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn mma_m16n8k16(
    a: &Registers4,
    b: &Registers2,
    c: &Accumulator4,
    #[comptime] ty: HalfType,
) -> Accumulator4 {
    intrinsic!(|scope| {
        let half = ty.ptx();
        let text = format!(
            "mma.sync.aligned.m16n8k16.row.col.f32.{half}.{half}.f32 \
             {{$0,$1,$2,$3}}, {{$4,$5,$6,$7}}, {{$8,$9}}, {{$10,$11,$12,$13}};"
        );
        let asm = Asm {
            text: &text,
            constraints: "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f",
            effect: Effect::Pure,
        };
        let float = f32::__expand_as_type(scope);
        let operands = vec![
            a.x.read_value(scope),
            a.y.read_value(scope),
            a.z.read_value(scope),
            a.w.read_value(scope),
            b.x.read_value(scope),
            b.y.read_value(scope),
            c.x.read_value(scope),
            c.y.read_value(scope),
            c.z.read_value(scope),
            c.w.read_value(scope),
        ];
        let r = emit(scope, asm, vec![float; 4], operands);
        Accumulator4Expand {
            x: r[0].into(),
            y: r[1].into(),
            z: r[2].into(),
            w: r[3].into(),
        }
    })
}
