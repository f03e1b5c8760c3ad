//! What happens to a score between the two products: a comptime kind.

use serde::{Deserialize, Serialize};

/// The transform of the raw score `q . k`.
///
/// A new transform (softcap, bias) is a new kind here and an arm where the kinds are applied; the
/// kernel does not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreKind {
    /// `scale (q . k)`. The factor is applied after the maximum, inside the exponent, since
    /// `max(c x) = c max(x)` for `c > 0` (claim S2).
    #[default]
    Scaled,
}
