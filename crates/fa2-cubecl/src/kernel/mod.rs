//! The kernels: each only composes the parts.

pub mod backward;
pub mod backward_sm90;
pub mod forward_sm80;
pub mod forward_sm90;
