//! `wgmma`: products of four warps with operands in shared memory, while the threads go on (SM90,
//! sm_90a only).
//!
//! PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions". A warpgroup is four warps of which the
//! first has a number that is a multiple of 4; all of them execute each instruction here.
//!
//! A product runs beside the code after it, until its group is waited for. Registers that it reads or
//! writes must stay as they are until then. The compiler does not know that, so accumulators pass
//! through the wait ([`wait_products()`]): what uses them comes after it.

use crate::matrix::{HalfType, Registers4};
use crate::op::{Asm, Effect, emit};
use cubecl::intrinsic;
use cubecl::ir::Scope;
use cubecl::ir::prelude::Value;
use cubecl::prelude::*;

/// Rows of a product.
pub const WGMMA_M: u32 = 64;
/// Depth of a product of 16-bit elements.
pub const WGMMA_K: u32 = 16;

/// How rows of an operand lie in shared memory: chunks of 16 bytes permuted within rows of so many
/// bytes, as `ldmatrix` without bank conflicts and as boxes of a tensor map have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharedSwizzle {
    /// Rows of 64 bytes.
    Bytes64,
    /// Rows of 128 bytes.
    Bytes128,
}

/// Which index of an operand is contiguous in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// The summed one.
    K,
    /// The other: the operand is read transposed.
    Mn,
}

/// A matrix in shared memory, without its address.
///
/// PTX ISA, "Matrix-Descriptor Format".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedMatrix {
    /// How its rows lie.
    pub swizzle: SharedSwizzle,
    /// Its contiguous index.
    pub major: Major,
    /// Leading dimension byte offset: between swizzled atoms along the contiguous index.
    pub leading_bytes: u32,
    /// Stride dimension byte offset: between groups of 8 along the other index.
    pub stride_bytes: u32,
}

impl SharedMatrix {
    /// Bits that the lower word of the descriptor has beside the address.
    #[must_use]
    pub const fn low_bits(self) -> u32 {
        (self.leading_bytes >> 4) << 16
    }

    /// The upper word of the descriptor.
    #[must_use]
    pub const fn high_word(self) -> u32 {
        let kind = match self.swizzle {
            SharedSwizzle::Bytes128 => 1 << 30,
            SharedSwizzle::Bytes64 => 2 << 30,
        };
        (self.stride_bytes >> 4) | kind
    }

    const fn is_transposed(self) -> u32 {
        matches!(self.major, Major::Mn) as u32
    }
}

/// What the lower word of a descriptor counts addresses in.
pub const DESCRIPTOR_UNIT: u32 = 16;

/// What a product does with the accumulator's old values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// Adds to them.
    Accumulate,
    /// Takes no notice of them.
    Zero,
}

/// The comptime side of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Columns: 8 to 256 in steps of 8.
    pub n: u32,
    /// Element type of both operands.
    pub ty: HalfType,
    /// What happens to the old values.
    pub start: Start,
}

impl Product {
    /// Accumulators of a lane.
    #[must_use]
    pub const fn values(self) -> usize {
        self.n as usize / 2
    }

    fn name(self) -> String {
        let (n, half) = (self.n, self.ty.ptx());
        format!("wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{half}.{half}")
    }
}

/// `first, first + 1, ...` in the form `item`.
fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

/// The values of `array`.
fn read(scope: &Scope, array: &NativeExpand<Array<f32>>, count: usize) -> Vec<Value> {
    let value = |index: usize| {
        let index: NativeExpand<usize> = index.into();
        let value: &NativeExpand<f32> = array.__expand_index_method(scope, index);
        value.read_value(scope)
    };
    (0..count).map(value).collect()
}

/// Makes `values` those of `array`.
fn write(scope: &Scope, array: &mut NativeExpand<Array<f32>>, values: &[Value]) {
    for (index, value) in values.iter().enumerate() {
        let value: NativeExpand<f32> = (*value).into();
        let index: NativeExpand<usize> = index.into();
        let target: &mut NativeExpand<f32> = array.__expand_index_mut_method(scope, index);
        cubecl::frontend::__expand_assign(scope, target, value);
    }
}

/// Emits a product: `operands` and their constraints follow the accumulators.
///
/// In `text`, `{D}` is the accumulators and `{n}` for a number n is the n-th of the operands.
fn emit_product(
    scope: &Scope,
    accumulators: &mut NativeExpand<Array<f32>>,
    product: Product,
    text: impl Fn(&str, &dyn Fn(usize) -> String) -> String,
    constraints: &str,
    operands: Vec<Value>,
) {
    let count = product.values();
    let (mut inputs, ties) = match product.start {
        Start::Zero => (vec![], String::new()),
        // An accumulator is read and written in one register.
        Start::Accumulate => (
            read(scope, accumulators, count),
            list(count, |i| i.to_string()) + ",",
        ),
    };
    let first = count + inputs.len();
    let d = list(count, |i| format!("${i}"));
    let text = text(&d, &|i| format!("${}", first + i));
    let constraints = format!(
        "{},{ties}{constraints},~{{memory}}",
        list(count, |_| "=f".to_owned())
    );
    let asm = Asm {
        text: &text,
        constraints: &constraints,
        effect: Effect::Memory,
    };
    inputs.extend(operands);
    let ty = f32::__expand_as_type(scope);
    let values = emit(scope, asm, vec![ty; count], inputs);
    write(scope, accumulators, &values);
}

/// Lines that make the descriptor `name` of `matrix` from the lower word `word` plus `offset` bytes.
fn descriptor(name: &str, word: &str, offset: u32, matrix: SharedMatrix) -> String {
    let (units, high) = (offset / DESCRIPTOR_UNIT, matrix.high_word());
    format!(
        ".reg .b32 {name}_low; .reg .b64 {name}; add.u32 {name}_low, {word}, {units}; \
         mov.b64 {name}, {{{name}_low, {high:#x}}};"
    )
}

fn predicate(start: Start) -> &'static str {
    match start {
        Start::Accumulate => "1",
        Start::Zero => "0",
    }
}

/// Starts `accumulators (+)= A B` with A (64 x 16) and B (16 x n) in shared memory.
///
/// `a` and `b` are the lower words of their descriptors, to which the offsets, in bytes, are added.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn multiply_shared(
    accumulators: &mut Array<f32>,
    a: u32,
    b: u32,
    #[comptime] product: Product,
    #[comptime] a_matrix: SharedMatrix,
    #[comptime] b_matrix: SharedMatrix,
    #[comptime] a_offset: u32,
    #[comptime] b_offset: u32,
) {
    intrinsic!(|scope| {
        let operands = vec![a.read_value(scope), b.read_value(scope)];
        let text = |d: &str, operand: &dyn Fn(usize) -> String| {
            format!(
                "{{ .reg .pred p; setp.ne.b32 p, {}, 0; {} {} {} {{{d}}}, a, b, p, 1, 1, {}, {}; }}",
                predicate(product.start),
                descriptor("a", &operand(0), a_offset, a_matrix),
                descriptor("b", &operand(1), b_offset, b_matrix),
                product.name(),
                a_matrix.is_transposed(),
                b_matrix.is_transposed(),
            )
        };
        emit_product(scope, accumulators, product, text, "r,r", operands);
    })
}

/// Starts `accumulators (+)= A B` with A (64 x 16) in registers, as `mma.sync` m16n8k16 has its A in
/// each warp's 16 rows, and B (16 x n) in shared memory.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn multiply_registers(
    accumulators: &mut Array<f32>,
    a: &Registers4,
    b: u32,
    #[comptime] product: Product,
    #[comptime] b_matrix: SharedMatrix,
    #[comptime] b_offset: u32,
) {
    intrinsic!(|scope| {
        let operands = vec![
            a.x.read_value(scope),
            a.y.read_value(scope),
            a.z.read_value(scope),
            a.w.read_value(scope),
            b.read_value(scope),
        ];
        let text = |d: &str, operand: &dyn Fn(usize) -> String| {
            format!(
                "{{ .reg .pred p; setp.ne.b32 p, {}, 0; {} {} {{{d}}}, {{{}}}, b, p, 1, 1, {}; }}",
                predicate(product.start),
                descriptor("b", &operand(4), b_offset, b_matrix),
                product.name(),
                list(4, operand),
                b_matrix.is_transposed(),
            )
        };
        emit_product(scope, accumulators, product, text, "r,r,r,r,r", operands);
    })
}

/// Passes `accumulators` through `text`, so that no use of them moves across it.
fn emit_through(
    scope: &Scope,
    accumulators: &mut NativeExpand<Array<f32>>,
    count: usize,
    text: &str,
) {
    let constraints = format!(
        "{},{},~{{memory}}",
        list(count, |_| "=f".to_owned()),
        list(count, |i| i.to_string())
    );
    let asm = Asm {
        text,
        constraints: &constraints,
        effect: Effect::Memory,
    };
    let inputs = read(scope, accumulators, count);
    let ty = f32::__expand_as_type(scope);
    let values = emit(scope, asm, vec![ty; count], inputs);
    write(scope, accumulators, &values);
}

/// Keeps what was done to the first `count` of `accumulators` before this point, and what is done to
/// them later after it.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn pin_accumulators(accumulators: &mut Array<f32>, #[comptime] count: usize) {
    intrinsic!(|scope| {
        emit_through(scope, accumulators, count, "");
    })
}

/// Orders this thread's register accesses before the products that follow. Must come before the first
/// product, and before one that reads registers that were written otherwise.
#[cube]
pub fn fence_products() {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "wgmma.fence.sync.aligned;",
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Closes the group of the products started since the last commit.
#[cube]
pub fn commit_products() {
    intrinsic!(|scope| {
        let asm = Asm {
            text: "wgmma.commit_group.sync.aligned;",
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Waits until at most `pending` of the committed groups are still running: the others have read their
/// operands. Their accumulators still have to pass through [`wait_products()`].
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn wait_operands(#[comptime] pending: u32) {
    intrinsic!(|scope| {
        let text = format!("wgmma.wait_group.sync.aligned {pending};");
        let asm = Asm {
            text: &text,
            constraints: "~{memory}",
            effect: Effect::Memory,
        };
        emit(scope, asm, vec![], vec![]);
    })
}

/// Waits until at most `pending` of the committed groups are still running; the first `count` of
/// `accumulators`, those of a group that has ended, can be used afterwards.
#[cube]
#[allow(
    unused_variables,
    reason = "the body is an intrinsic: only its expansion exists"
)]
pub fn wait_products(
    accumulators: &mut Array<f32>,
    #[comptime] count: usize,
    #[comptime] pending: u32,
) {
    intrinsic!(|scope| {
        let text = format!("wgmma.wait_group.sync.aligned {pending};");
        emit_through(scope, accumulators, count, &text);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptor_words_have_the_fields_of_the_isa() {
        let v = SharedMatrix {
            swizzle: SharedSwizzle::Bytes128,
            major: Major::Mn,
            leading_bytes: 128 * 128,
            stride_bytes: 1024,
        };
        let word = u64::from(v.high_word()) << 32 | u64::from(v.low_bits());
        assert_eq!(word & 0x3fff, 0, "the address is run-time");
        assert_eq!(word >> 16 & 0x3fff, 1024, "leading bytes / 16");
        assert_eq!(word >> 32 & 0x3fff, 64, "stride bytes / 16");
        assert_eq!(word >> 62, 1, "128-byte swizzle");
        let narrow = SharedMatrix {
            swizzle: SharedSwizzle::Bytes64,
            ..v
        };
        assert_eq!(narrow.high_word() >> 30, 2, "64-byte swizzle");
    }
}
