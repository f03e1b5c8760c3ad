//! `cp.async` and its groups.

use super::{call::Call, memory::is_cache_hint};
use crate::{
    module::{Op, ScalarType as T},
    parse::{ParseError, literal::Literal, operand::Written},
};

/// `cp.async`, `cp.async.commit_group`, `cp.async.wait_group`, `cp.async.wait_all`.
pub(super) fn translate(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let asynchronous = call.suffixes.take("async");
    if call.suffixes.take("commit_group") {
        call.finish(asynchronous)?;
        call.count(&[0], "0")?;
        call.emit(Op::AsyncCommit);
        return Ok(());
    }
    if call.suffixes.take("wait_all") {
        call.finish(asynchronous)?;
        call.count(&[0], "0")?;
        call.emit(Op::AsyncWait {
            pending: 0,
            all: true,
        });
        return Ok(());
    }
    if call.suffixes.take("wait_group") {
        call.finish(asynchronous)?;
        call.count(&[1], "1")?;
        let pending = constant(&call, 0)?;
        call.emit(Op::AsyncWait {
            pending,
            all: false,
        });
        return Ok(());
    }
    copy(call, asynchronous)
}

fn copy(mut call: Call<'_, '_>, asynchronous: bool) -> Result<(), ParseError> {
    let policy = call.place.name.contains("L2::cache_hint");
    let all_levels = call.suffixes.take("ca");
    let level2 = call.suffixes.take("cg");
    let shared = call.suffixes.take("shared") || call.suffixes.take("shared::cta");
    let global = call.suffixes.take("global");
    call.suffixes.ignore(is_cache_hint);
    call.finish(asynchronous && (all_levels != level2) && shared && global)?;
    match policy {
        false => call.count(&[3, 4], "3 or 4")?,
        true => call.count(&[4, 5], "4 or 5")?,
    }
    let bytes = constant(&call, 2)?;
    if !(bytes == 16 || all_levels && matches!(bytes, 4 | 8)) {
        let expected = if all_levels { "4, 8 or 16" } else { "16" };
        return Err(call.mismatch(2, expected));
    }
    let (destination, source) = (call.address(0)?, call.address(1)?);
    // A predicate here would be `ignore-src`, which `source` refuses for its width.
    let has_size = call.operands.len() - usize::from(policy) == 4;
    let source_bytes = if has_size {
        Some(call.source(3, T::U32)?)
    } else {
        None
    };
    call.emit(Op::AsyncCopy {
        destination,
        source,
        bytes,
        source_bytes,
    });
    Ok(())
}

fn constant(call: &Call<'_, '_>, index: usize) -> Result<u32, ParseError> {
    match call.operands[index] {
        Written::Number {
            literal: Literal::Integer(value),
            negative: false,
        } => u32::try_from(value).map_err(|_| call.mismatch(index, "a small constant")),
        _ => Err(call.mismatch(index, "a constant")),
    }
}
