//! The suffixes of an instruction's name, taken one by one; one that nobody takes is an error.

use crate::{alu::Rounding, module::ScalarType};

/// Suffixes not taken yet, in order.
pub(super) struct Suffixes<'t>(Vec<&'t str>);

const ROUNDINGS: [(&str, Rounding); 8] = [
    ("rn", Rounding::Rn),
    ("rz", Rounding::Rz),
    ("rm", Rounding::Rm),
    ("rp", Rounding::Rp),
    ("rni", Rounding::Rni),
    ("rzi", Rounding::Rzi),
    ("rmi", Rounding::Rmi),
    ("rpi", Rounding::Rpi),
];

impl<'t> Suffixes<'t> {
    /// The base name and the suffixes of `name`.
    pub(super) fn split(name: &'t str) -> (&'t str, Self) {
        let mut parts = name.split('.');
        let base = parts.next().unwrap_or_default();
        (base, Self(parts.collect()))
    }

    /// Takes `suffix` if it is there.
    pub(super) fn take(&mut self, suffix: &str) -> bool {
        let found = self.0.iter().position(|part| *part == suffix);
        found.map(|index| self.0.remove(index)).is_some()
    }

    /// Takes the first suffix that `table` has.
    pub(super) fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        self.choose_with(|part| {
            table
                .iter()
                .find(|(name, _)| *name == part)
                .map(|(_, value)| *value)
        })
    }

    /// Takes the first suffix that `read` understands.
    pub(super) fn choose_with<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (index, value) = self
            .0
            .iter()
            .enumerate()
            .find_map(|(i, part)| read(part).map(|value| (i, value)))?;
        self.0.remove(index);
        Some(value)
    }

    /// Takes every suffix for which `drop` holds: hints that change no value.
    pub(super) fn ignore(&mut self, drop: impl Fn(&str) -> bool) {
        self.0.retain(|part| !drop(part));
    }

    /// Takes the first type.
    pub(super) fn ty(&mut self) -> Option<ScalarType> {
        self.choose_with(scalar_type)
    }

    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.choose(&ROUNDINGS)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The type that a suffix without its dot names.
pub(super) fn scalar_type(name: &str) -> Option<ScalarType> {
    Some(match name {
        "pred" => ScalarType::Pred,
        "b8" => ScalarType::B8,
        "u8" => ScalarType::U8,
        "s8" => ScalarType::S8,
        "b16" => ScalarType::B16,
        "u16" => ScalarType::U16,
        "s16" => ScalarType::S16,
        "f16" => ScalarType::F16,
        "bf16" => ScalarType::Bf16,
        "f16x2" => ScalarType::F16x2,
        "bf16x2" => ScalarType::Bf16x2,
        "b32" => ScalarType::B32,
        "u32" => ScalarType::U32,
        "s32" => ScalarType::S32,
        "f32" => ScalarType::F32,
        "b64" => ScalarType::B64,
        "u64" => ScalarType::U64,
        "s64" => ScalarType::S64,
        "f64" => ScalarType::F64,
        _ => return None,
    })
}
