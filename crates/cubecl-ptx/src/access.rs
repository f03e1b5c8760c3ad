//! The text of loads, stores and sums by address, which differ in their names only.

use crate::op::{Asm, Effect, emit};
use cubecl::ir::Scope;
use cubecl::ir::prelude::{TypeHandle, Value};

/// Emits `load` of four registers of type `ty` from `address + offset`.
pub(crate) fn emit_load_x4(
    scope: &Scope,
    load: &str,
    constraints: &str,
    offset: u32,
    ty: TypeHandle,
    address: Value,
) -> Vec<Value> {
    let asm = Asm {
        text: &format!("{load} {{$0,$1,$2,$3}}, [$4+{offset}];"),
        constraints,
        effect: Effect::Memory,
    };
    emit(scope, asm, vec![ty; 4], vec![address])
}

/// Emits `load` of one register of type `ty` from `address + offset`.
pub(crate) fn emit_load(
    scope: &Scope,
    load: &str,
    constraints: &str,
    offset: u32,
    ty: TypeHandle,
    address: Value,
) -> Value {
    let asm = Asm {
        text: &format!("{load} $0, [$1+{offset}];"),
        constraints,
        effect: Effect::Memory,
    };
    emit(scope, asm, vec![ty], vec![address])[0]
}

/// Emits `store`, which may be a sum, of `values` to `address + offset`: one, or four as a vector.
pub(crate) fn emit_store<const N: usize>(
    scope: &Scope,
    store: &str,
    constraints: &str,
    offset: u32,
    address: Value,
    values: [Value; N],
) {
    let vector = match N {
        1 => "$1",
        4 => "{$1,$2,$3,$4}",
        _ => unreachable!("a store takes one register or four"),
    };
    let asm = Asm {
        text: &format!("{store} [$0+{offset}], {vector};"),
        constraints,
        effect: Effect::Memory,
    };
    let mut operands = vec![address];
    operands.extend(values);
    emit(scope, asm, vec![], operands);
}
