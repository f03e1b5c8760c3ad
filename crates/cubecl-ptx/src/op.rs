//! The inline-PTX operation and its lowering to LLVM; every use of pliron lives in this file.

use cubecl::ir::interfaces::side_effects::{MemoryEffect, MemoryEffectsOp};
use cubecl::ir::prelude::*;
use cubecl::ir::{CanMaterialize, Scope};
use cubecl::prelude::CubePrimitive;
use cubecl_llvm::shared::to_llvm::{ToLLVMDialect, insert::insert, ty::cube_type_to_llvm};
use pliron::builtin::attributes::{StringAttr, UnitAttr};
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::irbuild::dialect_conversion::{DialectConversionRewriter, OperandsInfo};
use pliron::op::Op;
use pliron::opts::dce::SideEffects;
use pliron::result::Result;
use pliron_llvm::op_interfaces::CastOpInterface;
use pliron_llvm::ops as llvm;
use pliron_llvm::types::{PointerType, StructLayout, StructType, VoidType};

/// Address space of shared memory in NVPTX.
const SHARED_SPACE: u32 = 3;

/// What the compiler may assume about a piece of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// A function of its operands: may be moved, merged or dropped.
    Pure,
    /// Touches memory or other threads: stays where it is, in order.
    Memory,
}

/// A piece of PTX with operands `$0, $1, ...` (results first) and LLVM constraints.
#[derive(Clone, Copy, Debug)]
pub struct Asm<'a> {
    /// PTX with `$n` placeholders; braces of PTX vectors are written as they are.
    pub text: &'a str,
    /// LLVM inline-assembly constraints: `=r`, `=f` for results, then `r`, `l`, `f` for operands,
    /// and `~{memory}` for a memory effect.
    pub constraints: &'a str,
    /// What the compiler may assume.
    pub effect: Effect,
}

/// Inline PTX as an operation of CubeCL's IR. Several results travel as an LLVM struct.
#[pliron_op(
    name = "ptx.asm",
    format,
    attributes = (ptx_asm_text: StringAttr, ptx_asm_constraints: StringAttr, ptx_asm_pure: UnitAttr),
    verifier = "succ"
)]
#[op_traits(CanMaterialize)]
pub(crate) struct AsmOp;

impl AsmOp {
    fn new(
        ctx: &mut Context,
        asm: Asm<'_>,
        results: Vec<TypeHandle>,
        operands: Vec<Value>,
    ) -> Self {
        let info = Self::get_concrete_op_info();
        let op = Self {
            op: Operation::new(ctx, info, results, operands, vec![], 0),
        };
        op.set_attr_ptx_asm_text(ctx, StringAttr::new(asm.text.to_string()));
        op.set_attr_ptx_asm_constraints(ctx, StringAttr::new(asm.constraints.to_string()));
        if asm.effect == Effect::Pure {
            op.set_attr_ptx_asm_pure(ctx, UnitAttr::new());
        }
        op
    }

    fn is_pure(&self, ctx: &Context) -> bool {
        self.get_attr_ptx_asm_pure(ctx).is_some()
    }
}

#[op_interface_impl]
impl SideEffects for AsmOp {
    fn has_side_effects(&self, ctx: &Context) -> bool {
        !self.is_pure(ctx)
    }
}

#[op_interface_impl]
impl MemoryEffectsOp for AsmOp {
    fn memory_effects(&self, ctx: &Context) -> Vec<MemoryEffect> {
        if self.is_pure(ctx) {
            vec![]
        } else {
            vec![MemoryEffect::ReadAll, MemoryEffect::WriteAll]
        }
    }
}

#[op_interface_impl]
impl ToLLVMDialect for AsmOp {
    fn rewrite(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _info: &OperandsInfo,
    ) -> Result<()> {
        let attribute = |a: Option<std::cell::Ref<'_, StringAttr>>| {
            a.map(|a| a.as_str().to_string()).unwrap_or_default()
        };
        let text = attribute(self.get_attr_ptx_asm_text(ctx));
        let constraints = attribute(self.get_attr_ptx_asm_constraints(ctx));
        let has_effect = !self.is_pure(ctx);
        let (operands, results): (Vec<Value>, Vec<TypeHandle>) = {
            let op = self.get_operation().deref(ctx);
            (
                op.operands().collect(),
                op.results().map(|r| r.get_type(ctx)).collect(),
            )
        };
        let results: Vec<TypeHandle> = results
            .into_iter()
            .map(|ty| cube_type_to_llvm(ctx, ty))
            .collect();
        let count = results.len();
        let ty: TypeHandle = match count {
            0 => VoidType::get(ctx).into(),
            1 => results[0],
            _ => StructType::get_unnamed(ctx, (results, StructLayout::Unpacked)).into(),
        };
        let call = llvm::InlineAsmOp::new(ctx, ty, operands, &text, &constraints, has_effect);
        if count == 0 {
            rewriter.insert_op(ctx, &call);
            rewriter.erase_operation(ctx, self.get_operation());
            return Ok(());
        }
        let value = insert(ctx, rewriter, &call);
        let mut values = vec![value];
        if count > 1 {
            values.clear();
            for index in 0..count {
                let part = llvm::ExtractValueOp::new(ctx, value, vec![index as u32])?;
                values.push(insert(ctx, rewriter, &part));
            }
        }
        rewriter.replace_operation_with_values(ctx, self.get_operation(), values);
        Ok(())
    }
}

/// The integer address behind a pointer: `u32` in the shared window or `u64` generic.
#[pliron_op(name = "ptx.address", format, attributes = (ptx_address_shared: UnitAttr), verifier = "succ")]
#[op_traits(CanMaterialize)]
pub(crate) struct AddressOp;

impl AddressOp {
    fn new(ctx: &mut Context, space: Space, result: TypeHandle, pointer: Value) -> Self {
        let info = Self::get_concrete_op_info();
        let op = Self {
            op: Operation::new(ctx, info, vec![result], vec![pointer], vec![], 0),
        };
        if space == Space::Shared {
            op.set_attr_ptx_address_shared(ctx, UnitAttr::new());
        }
        op
    }
}

#[op_interface_impl]
impl SideEffects for AddressOp {
    // The address escapes into PTX, which the dead-code pass can't see.
    fn has_side_effects(&self, _ctx: &Context) -> bool {
        true
    }
}

#[op_interface_impl]
impl MemoryEffectsOp for AddressOp {
    fn memory_effects(&self, _ctx: &Context) -> Vec<MemoryEffect> {
        vec![MemoryEffect::ReadAll, MemoryEffect::WriteAll]
    }
}

#[op_interface_impl]
impl ToLLVMDialect for AddressOp {
    fn rewrite(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _info: &OperandsInfo,
    ) -> Result<()> {
        let shared = self.get_attr_ptx_address_shared(ctx).is_some();
        let mut pointer = self.get_operation().deref(ctx).get_operand(0);
        if shared {
            // A kernel's shared array arrives as a generic pointer; its 32-bit address exists only
            // in the shared space.
            let space: TypeHandle = PointerType::get(ctx, SHARED_SPACE).into();
            if pointer.get_type(ctx) != space {
                let cast = llvm::AddrSpaceCastOp::new(ctx, pointer, space);
                pointer = insert(ctx, rewriter, &cast);
            }
        }
        let bits = if shared { u32::BITS } else { u64::BITS };
        let integer = IntegerType::get(ctx, bits, Signedness::Signless).into();
        let convert = llvm::PtrToIntOp::new(ctx, pointer, integer);
        let address = insert(ctx, rewriter, &convert);
        rewriter.replace_operation_with_values(ctx, self.get_operation(), vec![address]);
        Ok(())
    }
}

/// The memory behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Shared,
    Global,
}

/// Emits `asm` into the kernel being expanded and returns its results, in the order of its text.
///
/// For instructions that this crate has no function for: call it inside `intrinsic!`.
pub fn emit(
    scope: &Scope,
    asm: Asm<'_>,
    results: Vec<TypeHandle>,
    operands: Vec<Value>,
) -> Vec<Value> {
    let op = AsmOp::new(scope.ctx_mut(), asm, results, operands);
    scope.register(&op);
    op.get_operation().deref(scope.ctx()).results().collect()
}

/// Emits `text` where it stands, in order: its result and its operands are 32-bit registers.
pub(crate) fn emit_word(scope: &Scope, text: &str, operands: Vec<Value>) -> Value {
    let asm = Asm {
        text,
        constraints: &format!("=r{}", ",r".repeat(operands.len())),
        effect: Effect::Memory,
    };
    let ty = u32::__expand_as_type(scope);
    emit(scope, asm, vec![ty], operands)[0]
}

/// Emits the conversion of `pointer` to an address of type `result`.
pub(crate) fn emit_address(
    scope: &Scope,
    space: Space,
    result: TypeHandle,
    pointer: Value,
) -> Value {
    let op = AddressOp::new(scope.ctx_mut(), space, result, pointer);
    scope.register(&op);
    op.get_operation().deref(scope.ctx()).get_result(0)
}
