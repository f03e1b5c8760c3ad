//! Cases, the f64 oracle, derived tolerances and poison: what the tests and benches of this
//! workspace share.
//!
//! ```text
//! CASES / ARTICLE / REPLAY -> inputs::generate -> the engine under test --+
//!                                   |-> oracle::attention (f64) ----------+-> Expected -> Report
//!                                   `-> composed::attention (low prec.) --+
//! ```
//!
//! No tolerance in this workspace is written by hand: an engine may be at most twice as wrong as
//! the naive composed computation in the same element type, plus rounding noise that follows from
//! the formats.

pub mod case;
pub mod cases;
pub mod census;
pub mod composed;
pub mod element;
pub mod expected;
pub mod gradient;
pub mod inputs;
pub mod oracle;
pub mod poison;
pub mod replay;
pub mod tolerance;

pub use case::{Case, Causal, Inputs, Storage};
pub use cases::{ARTICLE, CASES};
pub use element::Element;
pub use expected::Expected;
pub use gradient::ExpectedGradients;
pub use inputs::{Qkv, Stored};
pub use oracle::Forward;
pub use replay::REPLAY;
pub use tolerance::Report;
