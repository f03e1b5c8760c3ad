//! The GPU conformance suite, the benchmark and the code reader of burn-fa2.

pub mod arguments;
pub mod bench;
pub mod engine;
pub mod ptx;
pub mod suite;
