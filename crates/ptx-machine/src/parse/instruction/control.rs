//! Branches, barriers, fences and the end.

use super::call::Call;
use crate::{
    module::{Op, ScalarType as T},
    parse::{ParseError, body::Branch, operand::Written},
};

/// `bra` and `bra.uni`; the label is resolved when the kernel ends.
pub(super) fn bra(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let uniform = call.suffixes.take("uni");
    call.finish(true)?;
    call.count(&[1], "1")?;
    let Written::Name {
        name: label,
        offset: 0,
    } = call.operands[0]
    else {
        return Err(call.mismatch(0, "a label"));
    };
    let (instruction, scope) = (call.building.code.len(), call.building.scopes.current());
    call.building.branches.push(Branch {
        instruction,
        label,
        scope,
    });
    call.emit(Op::Branch {
        target: usize::MAX,
        uniform,
    });
    Ok(())
}

/// `ret` and `exit`: a kernel calls no functions, so both end the thread.
pub(super) fn ret(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    call.suffixes.take("uni");
    call.finish(true)?;
    call.count(&[0], "0")?;
    call.emit(Op::Return);
    Ok(())
}

/// `bar.sync`, `bar.warp.sync` and `barrier.sync`.
pub(super) fn barrier(mut call: Call<'_, '_>, base: &str) -> Result<(), ParseError> {
    let sync = call.suffixes.take("sync");
    if base == "bar" && call.suffixes.take("warp") {
        call.finish(sync)?;
        call.count(&[1], "1")?;
        let mask = call.source(0, T::B32)?;
        call.emit(Op::WarpBarrier { mask });
        return Ok(());
    }
    call.suffixes.take("cta");
    // Without `.aligned` the ISA lets the warps of a block diverge at a barrier; here all are aligned.
    call.suffixes.take("aligned");
    call.finish(sync)?;
    call.count(&[1, 2], "1 or 2")?;
    let id = call.source(0, T::U32)?;
    let threads = if call.operands.len() == 2 {
        Some(call.source(1, T::U32)?)
    } else {
        None
    };
    call.emit(Op::Barrier { id, threads });
    Ok(())
}

/// `membar` and `fence`, of any order and scope.
pub(super) fn fence(mut call: Call<'_, '_>, base: &str) -> Result<(), ParseError> {
    let scopes = [
        ("cta", ()),
        ("cluster", ()),
        ("gpu", ()),
        ("gl", ()),
        ("sys", ()),
    ];
    let scoped = call.suffixes.choose(&scopes).is_some();
    if base == "fence" {
        call.suffixes.choose(&[
            ("sc", ()),
            ("acq_rel", ()),
            ("acquire", ()),
            ("release", ()),
        ]);
    }
    call.finish(scoped)?;
    call.count(&[0], "0")?;
    call.emit(Op::Fence);
    Ok(())
}
