//! The kernels: each only composes the parts.

pub mod backward;
pub mod forward_sm80;
pub mod forward_sm90;
