//! The kernels: each only composes the parts.

pub mod forward_sm80;
