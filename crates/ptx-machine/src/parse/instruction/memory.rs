//! `ld` and `st`.

use super::{call::Call, resolve::at_least};
use crate::{
    execute::MOST_BYTES,
    module::{Op, ScalarType as T, Space},
    parse::ParseError,
};

const SPACES: [(&str, Space); 6] = [
    ("global", Space::Global),
    ("shared", Space::Shared),
    ("shared::cta", Space::Shared),
    ("param", Space::Parameter),
    ("param::entry", Space::Parameter),
    ("generic", Space::Generic),
];

/// Caching, eviction and prefetch suffixes: they change no value.
pub(super) fn is_cache_hint(suffix: &str) -> bool {
    matches!(
        suffix,
        "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc"
    ) || suffix.starts_with("L1::")
        || suffix.starts_with("L2::")
}

/// Memory order and scope: accesses of this machine happen one by one, so the strongest holds.
pub(super) fn is_order(suffix: &str) -> bool {
    matches!(
        suffix,
        "weak" | "relaxed" | "acquire" | "release" | "acq_rel" | "volatile"
    ) || matches!(suffix, "cta" | "cluster" | "gpu" | "sys")
}

/// The state space of the name; generic without one.
pub(super) fn space(call: &mut Call<'_, '_>) -> Space {
    call.suffixes.choose(&SPACES).unwrap_or(Space::Generic)
}

/// What `ld` and `st` share: space, elements and type.
fn access(call: &mut Call<'_, '_>) -> Result<(Space, usize, T), ParseError> {
    let policy = call.place.name.contains("L2::cache_hint");
    call.suffixes
        .ignore(|suffix| is_cache_hint(suffix) || is_order(suffix));
    let space = space(call);
    let count = call.suffixes.choose(&[("v2", 2), ("v4", 4)]).unwrap_or(1);
    let ty = call.ty()?;
    let packed = matches!(ty, T::F16 | T::Bf16 | T::F16x2 | T::Bf16x2 | T::Pred);
    // Accesses of 256 bits came with SM100.
    let fits = count * ty.bits() as usize / 8 <= MOST_BYTES;
    call.finish(!packed && fits)?;
    if policy {
        call.count(&[3], "3")?
    } else {
        call.count(&[2], "2")?
    }
    Ok((space, count, ty))
}

/// `ld`.
pub(super) fn load(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let (space, count, ty) = access(&mut call)?;
    let expected = format!("a register of at least {} bits", ty.bits());
    let destinations = call.destinations(0, count, &expected, at_least(ty))?;
    let address = match space {
        Space::Parameter => call.parameter_address(1)?,
        _ => call.address(1)?,
    };
    call.emit(Op::Load {
        space,
        ty,
        destinations,
        address,
    });
    Ok(())
}

/// `st`.
pub(super) fn store(mut call: Call<'_, '_>) -> Result<(), ParseError> {
    let (space, count, ty) = access(&mut call)?;
    if space == Space::Parameter {
        return Err(call.unsupported());
    }
    let sources = call.values(1, count, ty, at_least(ty))?;
    let address = call.address(0)?;
    call.emit(Op::Store {
        space,
        ty,
        sources,
        address,
    });
    Ok(())
}
