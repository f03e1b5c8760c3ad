//! The text of loads, stores and sums by address, which differ in their names only.

use crate::op::{Asm, Effect, emit};
use cubecl::ir::Scope;
use cubecl::ir::prelude::{TypeHandle, Value};

/// `count` registers from `$first` on: one alone, more as a vector.
fn registers(first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count).map(|i| format!("${i}")).collect();
    match count {
        1 => names.concat(),
        _ => format!("{{{}}}", names.join(",")),
    }
}

/// Emits `load` of `N` registers of type `ty` from `address + offset`.
pub(crate) fn emit_load<const N: usize>(
    scope: &Scope,
    load: &str,
    constraints: &str,
    offset: u32,
    ty: TypeHandle,
    address: Value,
) -> [Value; N] {
    let asm = Asm {
        text: &format!("{load} {}, [${N}+{offset}];", registers(0, N)),
        constraints,
        effect: Effect::Memory,
    };
    let loaded = emit(scope, asm, vec![ty; N], vec![address]);
    std::array::from_fn(|i| loaded[i])
}

/// Emits `store`, which may be a sum, of `values` to `address + offset`.
pub(crate) fn emit_store<const N: usize>(
    scope: &Scope,
    store: &str,
    constraints: &str,
    offset: u32,
    address: Value,
    values: [Value; N],
) {
    let asm = Asm {
        text: &format!("{store} [$0+{offset}], {};", registers(1, N)),
        constraints,
        effect: Effect::Memory,
    };
    let mut operands = vec![address];
    operands.extend(values);
    emit(scope, asm, vec![], operands);
}
